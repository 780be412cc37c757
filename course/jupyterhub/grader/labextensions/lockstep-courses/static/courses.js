// A JupyterLab extension as it is after a build: a container in the sense of webpack's module federation.
// JupyterLab hands it the modules that extensions share, so there is nothing to build.
window._JUPYTERLAB = window._JUPYTERLAB || {};
window._JUPYTERLAB['lockstep-courses'] = (() => {
  let scope;
  const shared = async name => (await Object.values(scope[name])[0].get())();
  return {
    init: given => {
      scope = given;
    },
    get: async () => {
      const [{Widget}, {PageConfig}] = await Promise.all(['@lumino/widgets', '@jupyterlab/coreutils'].map(shared));
      return () => ({
        __esModule: true,
        default: {
          id: 'lockstep-courses:link',
          description: 'A link to the first page of the hub in the top bar.',
          autoStart: true,
          activate: app => {
            const link = document.createElement('a');
            link.href = `${PageConfig.getOption('hubHost')}${PageConfig.getOption('hubPrefix')}home`;
            link.textContent = 'Your courses';
            link.style.cssText = 'margin: auto 12px auto auto; color: var(--jp-content-link-color, #0969da); font: 600 13px system-ui';
            const node = document.createElement('div');
            node.style.cssText = 'display: flex; flex: 1 0 auto';
            node.append(link);
            const widget = new Widget({node});
            widget.id = 'lockstep-courses';
            app.shell.add(widget, 'top', {rank: 2000});
          }
        }
      });
    }
  };
})();
