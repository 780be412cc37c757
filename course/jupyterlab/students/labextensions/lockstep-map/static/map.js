// A JupyterLab extension as it is after a build: a container in the sense of webpack's module federation.
// JupyterLab hands it the modules that extensions share, so there is nothing to build.
window._JUPYTERLAB = window._JUPYTERLAB || {};
window._JUPYTERLAB['lockstep-map'] = (() => {
  let scope;
  const shared = async name => (await Object.values(scope[name])[0].get())();
  return {
    init: given => {
      scope = given;
    },
    get: async () => {
      const [{ILayoutRestorer}, {ICommandPalette, WidgetTracker}, {ILauncher}, {IMainMenu}, {PageConfig, URLExt}, {ServerConnection}, {Widget}] =
        await Promise.all(
          ['application', 'apputils', 'launcher', 'mainmenu', 'coreutils', 'services'].map(one => shared(`@jupyterlab/${one}`)).concat(shared('@lumino/widgets'))
        );
      const OPEN = 'lockstep-map:open';

      // A tab with the map, which the server writes. It is read anew whenever the tab is shown, or a file is saved.
      class CourseMap extends Widget {
        constructor(app) {
          super();
          this.app = app;
          this.id = 'lockstep-map';
          this.title.label = 'Course map';
          this.title.closable = true;
          this.addClass('lockstep-Map');
          this.node.tabIndex = -1;
          this.node.addEventListener('click', event => this.follow(event));
          app.serviceManager.contents.fileChanged.connect(this.onFileChanged, this);
        }

        onFileChanged(_, change) {
          if (change.type === 'save') this.refresh();
        }

        onAfterAttach() {
          this.refresh();
        }

        onAfterShow() {
          this.refresh();
        }

        onActivateRequest() {
          this.node.focus();
        }

        // Links open in JupyterLab; with a modifier or another button in a new tab of the browser, as links do.
        follow(event) {
          const link = event.target.closest('a[data-path]');
          if (link && event.button === 0 && !(event.ctrlKey || event.metaKey || event.shiftKey || event.altKey)) {
            event.preventDefault();
            this.app.commands.execute('docmanager:open', {path: link.dataset.path});
          }
        }

        async refresh() {
          if (!this.isVisible) return;
          const asked = (this.asked = (this.asked ?? 0) + 1);
          let html;
          try {
            const settings = ServerConnection.makeSettings();
            const answer = await ServerConnection.makeRequest(URLExt.join(settings.baseUrl, 'lockstep/map'), {}, settings);
            if (!answer.ok) throw new Error(`the server answers ${answer.status}`);
            html = await answer.text();
          } catch (error) {
            const said = document.createElement('p');
            said.setAttribute('role', 'alert');
            said.textContent = `The course map cannot be shown: ${error.message}. Your files are safe. Open this tab again, or reload the page.`;
            html = said.outerHTML;
          }
          if (this.isDisposed || asked !== this.asked || html === this.html) return;
          const focused = this.node.contains(document.activeElement) && document.activeElement.getAttribute('href');
          const top = this.node.scrollTop;
          this.node.innerHTML = this.html = html;
          this.node.scrollTop = top;
          if (focused) this.node.querySelector(`a[href="${CSS.escape(focused)}"]`)?.focus();
        }
      }

      return () => ({
        __esModule: true,
        default: {
          id: 'lockstep-map:plugin',
          description: 'The map of the course, in a tab that is open where nothing else is.',
          autoStart: true,
          optional: [ILayoutRestorer, ILauncher, IMainMenu, ICommandPalette],
          activate: (app, restorer, launcher, menu, palette) => {
            const tracker = new WidgetTracker({namespace: 'lockstep-map'});
            let map;
            const open = activate => {
              if (!map || map.isDisposed) {
                map = new CourseMap(app);
                tracker.add(map);
              }
              if (!map.isAttached) app.shell.add(map, 'main', {activate});
              if (activate) app.shell.activateById(map.id);
            };
            app.commands.addCommand(OPEN, {
              label: 'Course map',
              caption: 'The labs and lectures of the course, and how far you are with each',
              execute: () => open(true)
            });
            restorer?.restore(tracker, {command: OPEN, name: () => 'map'});
            launcher?.add({command: OPEN, category: 'Notebook', rank: -2});
            if (launcher) {  // no setting takes consoles away, and without their extension there is no debugger
              const items = launcher.items.bind(launcher);
              launcher.items = () => [...items()].filter(item => item.command !== 'console:create').values();
            }
            menu?.fileMenu.addGroup([{command: OPEN}], -1);
            palette?.addItem({command: OPEN, category: 'Help'});
            document.addEventListener('visibilitychange', () => document.hidden || map?.refresh());
            // JupyterLab opens its launcher where nothing is open. This comes first, so that it need not.
            app.restored.then(() => {
              const fill = () => app.shell.isEmpty('main') && open(true);
              app.shell.layoutModified.connect(fill);
              if (!/\.\w+$/.test(PageConfig.getOption('treePath'))) fill();  // else a file is about to be opened
            });
          }
        }
      });
    }
  };
})();
