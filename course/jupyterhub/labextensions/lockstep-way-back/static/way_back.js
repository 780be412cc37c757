// A JupyterLab extension as it is after a build: a container in the sense of webpack's module federation.
// JupyterLab hands it the modules that extensions share, so there is nothing to build.
window._JUPYTERLAB = window._JUPYTERLAB || {};
window._JUPYTERLAB['lockstep-way-back'] = (() => {
  let scope;
  const shared = async name => (await Object.values(scope[name])[0].get())();
  return {
    init: given => {
      scope = given;
    },
    get: async () => {
      const [{Widget}, {PageConfig}] = await Promise.all(['@lumino/widgets', '@jupyterlab/coreutils'].map(shared));
      // As page_config.json has them: its text, the page's address below the server's (`base`) or the hub's (`hub`), and
      // the command that leads there, if it takes one.
      const [text, below, page, command] = ['Text', 'Below', 'Page', 'Command'].map(name =>
        PageConfig.getOption(`lockstepWayBack${name}`)
      );
      const hub = () => `${PageConfig.getOption('hubHost')}${PageConfig.getOption('hubPrefix')}`;
      return () => ({
        __esModule: true,
        default: {
          id: 'lockstep-way-back:link',
          description: 'A link in the top bar to the page that leads to all others.',
          autoStart: true,
          activate: app => {
            const link = document.createElement('a');
            link.href = `${below === 'hub' ? hub() : PageConfig.getBaseUrl()}${page}`;
            link.textContent = text;
            link.style.cssText = 'margin: auto 12px auto auto; color: var(--jp-content-link-color, #0969da); font: 600 13px system-ui';
            link.addEventListener('click', event => {
              if (!command || event.button || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
              event.preventDefault();
              app.commands.execute(command);
            });
            const node = document.createElement('div');
            node.style.cssText = 'display: flex; flex: 1 0 auto';
            node.append(link);
            const widget = new Widget({node});
            widget.id = 'lockstep-way-back';
            app.shell.add(widget, 'top', {rank: 2000});
          }
        }
      });
    }
  };
})();
