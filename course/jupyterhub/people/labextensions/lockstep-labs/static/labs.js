// A JupyterLab extension as it is after a build: a container in the sense of webpack's module federation.
// JupyterLab hands it the modules that extensions share, so there is nothing to build.
window._JUPYTERLAB = window._JUPYTERLAB || {};
window._JUPYTERLAB['lockstep-labs'] = (() => {
  let scope;
  const shared = async name => (await Object.values(scope[name])[0].get())();
  return {
    init: given => {
      scope = given;
    },
    get: async () => {
      const [{Dialog, Notification, showDialog}, {ILauncher}, {Widget}, {PageConfig}, {ServerConnection}] = await Promise.all(
        ['@jupyterlab/apputils', '@jupyterlab/launcher', '@lumino/widgets', '@jupyterlab/coreutils', '@jupyterlab/services'].map(shared)
      );
      const labs = `${PageConfig.getBaseUrl()}labs`;
      // A lab's notebook is COURSE/LAB/LAB.ipynb, below where the server's files begin.
      const labOf = path => path.match(/^([^/]+)\/([^/]+)\/\2\.ipynb$/)?.slice(1);
      // As on the page of labs: times in the reader's own zone.
      const inOwnZone = text => text.replace(/(\d{4}-\d\d-\d\d) (\d\d:\d\d) UTC/g, (_, day, time) =>
        new Date(`${day}T${time}Z`).toLocaleString([], {dateStyle: 'medium', timeStyle: 'short'}));
      return () => ({
        __esModule: true,
        default: {
          id: 'lockstep-labs:open',
          description: 'A way back to the page of labs that saves what is open, and a tile for it in the launcher.',
          autoStart: true,
          optional: [ILauncher],
          activate: (app, launcher) => {
            // Saves what is open and changed. Returns the paths of what could not be saved; JupyterLab has said why.
            const save = async () => {
              const open = new Map([...app.shell.widgets('main')].map(({context}) => [context?.path, context]));
              const changed = [...open.values()].filter(context => context?.model?.dirty);
              await Promise.allSettled(changed.map(context => context.save()));
              return changed.filter(context => context.model.dirty).map(context => context.path);
            };
            // Shows a file as it is on disk now. Where something was written since it was saved, JupyterLab asks on saving.
            const reload = path => Promise.allSettled(
              [...new Set([...app.shell.widgets('main')].map(({context}) => context))]
                .filter(context => context?.path === path && !context.model?.dirty)
                .map(context => context.revert())
            );
            const leave = async () => {
              const unsaved = await save();
              if (unsaved.length) {
                const {button} = await showDialog({
                  title: 'Not saved',
                  body: `${unsaved.join(', ')} could not be saved. If you leave now, what you wrote since it was last saved is lost.`,
                  buttons: [Dialog.cancelButton({label: 'Stay'}), Dialog.warnButton({label: 'Leave without saving'})]
                });
                if (!button.accept) return;
              }
              window.location.assign(labs);
            };
            // Closes what is open of a path, which the page of labs opens or renames. Returns why not, or nothing.
            const close = path => {
              const open = [...app.shell.widgets('main')].filter(({context}) => context?.path === path);
              if (open.some(({context}) => context.model.dirty)) return 'and could not be saved there';
              if (open.some(({context}) => context.sessionContext?.session?.kernel?.status === 'busy')) return 'where a cell runs';
              open.forEach(widget => widget.close());
              if (open.length) Notification.info(`${path} was saved and closed here, as you go on with it from Your labs in another tab.`, {autoClose: false});
            };
            // The page of labs, in another tab, asks for that before it hands something in, or opens it,
            // and tells of a notebook that it has written.
            const channel = new BroadcastChannel(`lockstep-labs ${new URL(PageConfig.getBaseUrl()).pathname}`);
            channel.onmessage = async ({data}) => {
              if (data.kind === 'reload') await reload(data.path);
              if (data.kind !== 'save') return;
              channel.postMessage({kind: 'saving', request: data.request});
              const unsaved = await save();
              channel.postMessage({kind: 'saved', request: data.request, unsaved, kept: data.close && close(data.close)});
            };
            // Hands a lab in, as its button on the page of labs does. Returns what is said: its kind and a text.
            const send = async ([course, lab], confirmed) => {
              const settings = ServerConnection.makeSettings();
              const body = new URLSearchParams({step: 'hand_in', course, lab, confirmed});
              const headers = {Accept: 'application/json', 'Content-Type': 'application/x-www-form-urlencoded'};
              try {
                const answer = await ServerConnection.makeRequest(labs, {method: 'POST', body, headers}, settings);
                if (!answer.ok) throw new Error(`the server answers ${answer.status}`);
                return await answer.json();
              } catch (error) {
                return {kind: 'failed', text: `It is not known whether it is handed in: ${error.message}. Look at Your labs.`};
              }
            };
            const titles = {done: 'Handed in', unchanged: 'Not handed in again', question: 'Not handed in yet', failed: 'Not handed in'};
            const handIn = async path => {
              const unsaved = await save();
              const said = unsaved.includes(path)
                ? {kind: 'failed', text: `${path} could not be saved. Save it first.`}
                : await send(labOf(path), '');
              const more = said.kind === 'question';
              const {button} = await showDialog({
                title: titles[said.kind],
                body: inOwnZone(said.text),
                buttons: more
                  ? [Dialog.cancelButton({label: 'Leave it as it is'}), Dialog.warnButton({label: 'Hand in all the same'})]
                  : [Dialog.okButton()],
                defaultButton: 0
              });
              if (!more || !button.accept) return;
              const {kind, text} = await send(labOf(path), 'yes');
              await showDialog({title: titles[kind], body: inOwnZone(text), buttons: [Dialog.okButton()]});
            };
            app.docRegistry.addWidgetExtension('Notebook', {
              createNew: (panel, context) => {
                const button = document.createElement('button');
                button.textContent = 'Hand in';
                button.className = 'jp-ToolbarButtonComponent';
                button.style.cssText = 'padding: 0 8px; color: var(--jp-ui-font-color1); font-size: var(--jp-ui-font-size1)';
                button.addEventListener('click', async () => {
                  if (button.getAttribute('aria-disabled')) return;
                  button.setAttribute('aria-disabled', 'true');
                  button.textContent = 'Handing in …';
                  await handIn(context.path).finally(() => {
                    button.textContent = 'Hand in';
                    button.removeAttribute('aria-disabled');
                  });
                });
                const widget = new Widget({node: document.createElement('div')});
                widget.addClass('jp-ToolbarButton');
                widget.node.append(button);
                const show = () => widget.setHidden(!labOf(context.path));
                context.pathChanged.connect(show);
                show();
                panel.toolbar.insertItem(10, 'lockstep-hand-in', widget);  // beside Validate
                return widget;
              }
            });
            app.commands.addCommand('lockstep-labs:open', {
              label: 'Your labs',
              caption: 'The labs of your courses: fetch, open, hand in, feedback',
              execute: leave
            });
            launcher?.add({command: 'lockstep-labs:open', category: 'Notebook', rank: -1});
          }
        }
      });
    }
  };
})();
