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
      const [{ILauncher}, {Widget}, {PageConfig}] = await Promise.all(
        ['@jupyterlab/launcher', '@lumino/widgets', '@jupyterlab/coreutils'].map(shared)
      );
      const labs = `${PageConfig.getBaseUrl()}labs`;
      return () => ({
        __esModule: true,
        default: {
          id: 'lockstep-labs:link',
          description: 'A link to the page of labs in the top bar, and a tile for it in the launcher.',
          autoStart: true,
          optional: [ILauncher],
          activate: (app, launcher) => {
            const link = document.createElement('a');
            link.href = labs;
            link.textContent = 'Your labs';
            link.style.cssText = 'margin: auto 12px auto auto; color: var(--jp-content-link-color, #0969da); font: 600 13px system-ui';
            const node = document.createElement('div');
            node.style.cssText = 'display: flex; flex: 1 0 auto';
            node.append(link);
            const widget = new Widget({node});
            widget.id = 'lockstep-labs';
            app.shell.add(widget, 'top', {rank: 2000});
            app.commands.addCommand('lockstep-labs:open', {
              label: 'Your labs',
              caption: 'The labs of your courses: fetch, open, hand in, feedback',
              execute: () => window.location.assign(labs)
            });
            launcher?.add({command: 'lockstep-labs:open', category: 'Notebook', rank: -1});
          }
        }
      });
    }
  };
})();
