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
      const [{Dialog, showDialog}, {ILauncher}, {PageConfig}] = await Promise.all(
        ['apputils', 'launcher', 'coreutils'].map(name => shared(`@jupyterlab/${name}`))
      );
      const labs = `${PageConfig.getBaseUrl()}labs`;
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
            // The page of labs, in another tab, asks for the same before it hands something in.
            const channel = new BroadcastChannel(`lockstep-labs ${new URL(PageConfig.getBaseUrl()).pathname}`);
            channel.onmessage = async ({data}) => {
              if (data.kind !== 'save') return;
              channel.postMessage({kind: 'saving', request: data.request});
              channel.postMessage({kind: 'saved', request: data.request, unsaved: await save()});
            };
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
