// A JupyterLab extension as it is after a build: a container in the sense of webpack's module federation.
// It asks only for the application, so there is nothing to build.
window._JUPYTERLAB = window._JUPYTERLAB || {};
window._JUPYTERLAB.lockstep = {
  init: () => {},
  get: async () => () => ({
    __esModule: true,
    default: {
      id: 'lockstep:contents',
      description: 'Shows the table of contents once a page, with its first notebook, unless the sidebar is closed.',
      autoStart: true,
      activate: app => {
        const show = () => {
          if (app.shell.currentWidget?.node.classList.contains('jp-NotebookPanel')) {
            app.shell.currentChanged.disconnect(show);
            app.commands.execute('toc:show-panel');
          }
        };
        app.shell.restored.then(layout => {
          if (layout.fresh || !layout.leftArea?.collapsed) {
            app.shell.currentChanged.connect(show);
            show();
          }
        });
      }
    }
  })
};
