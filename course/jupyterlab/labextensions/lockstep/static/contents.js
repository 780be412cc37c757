// A JupyterLab extension as it is after a build: a container in the sense of webpack's module federation.
// It asks only for the application, so there is nothing to build.
window._JUPYTERLAB = window._JUPYTERLAB || {};
window._JUPYTERLAB.lockstep = {
  init: () => {},
  get: async () => () => ({
    __esModule: true,
    default: [{
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
    }, {
      id: 'lockstep:validated',
      description: 'Says what a notebook that was validated makes in points.',
      autoStart: true,
      activate: app => {
        const say = async result => {
          // A hub answers a page's script only with this token.
          const token = document.cookie.match(/(?:^|; )_xsrf=([^;]*)/)?.[1] ?? '';
          const address = `${app.serviceManager.serverSettings.baseUrl}assignments/validated`;
          const answer = await fetch(address, {headers: {'X-XSRFToken': token}});
          const {said} = answer.ok ? await answer.json() : {};
          if (!said) return;
          const line = document.createElement('p');
          line.textContent = said;
          result.prepend(line);
        };
        // nbgrader's dialog has no place for it, so it is waited for.
        new MutationObserver(changes => {
          for (const {addedNodes} of changes) {
            for (const node of addedNodes) {
              const result = node.querySelector?.('.validation-success, .validation-failed');
              if (result) say(result);
            }
          }
        }).observe(document.body, {childList: true});
      }
    }, {
      id: 'lockstep:nothing-to-save',
      description: 'Shows a notebook as saved that nobody has changed, though its kernel has said what it runs.',
      autoStart: true,
      activate: app => {
        // JupyterLab puts that into the notebook's metadata, which differ by machine, and counts it as a change.
        const same = {
          language_info: () => true,
          kernelspec: (before, after) => before?.name === after?.name
        };
        const settle = (model, { key, oldValue, newValue }) => {
          if (!model.dirty && same[key]?.(oldValue, newValue)) {
            queueMicrotask(() => { model.dirty = false; });
          }
        };
        app.docRegistry.addWidgetExtension('Notebook', {
          createNew: (panel, context) => { context.model.metadataChanged.connect(settle); }
        });
      }
    }]
  })
};
