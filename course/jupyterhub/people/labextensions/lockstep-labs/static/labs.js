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
      const [{Dialog, showDialog}, {ILauncher}, {Widget}, {PageConfig}] = await Promise.all(
        ['@jupyterlab/apputils', '@jupyterlab/launcher', '@lumino/widgets', '@jupyterlab/coreutils'].map(shared)
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
            // The page of labs, in another tab, asks for the same before it hands something in,
            // and tells of a notebook that it has written.
            const channel = new BroadcastChannel(`lockstep-labs ${new URL(PageConfig.getBaseUrl()).pathname}`);
            channel.onmessage = async ({data}) => {
              if (data.kind === 'reload') await reload(data.path);
              if (data.kind !== 'save') return;
              channel.postMessage({kind: 'saving', request: data.request});
              channel.postMessage({kind: 'saved', request: data.request, unsaved: await save()});
            };
            const link = document.createElement('a');
            link.href = labs;
            link.textContent = 'Your labs';
            link.style.cssText = 'margin: auto 12px auto auto; color: var(--jp-content-link-color, #0969da); font: 600 13px system-ui';
            link.addEventListener('click', event => {
              if (event.button || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
              event.preventDefault();
              leave();
            });
            const node = document.createElement('div');
            node.style.cssText = 'display: flex; flex: 1 0 auto';
            node.append(link);
            const widget = new Widget({node});
            widget.id = 'lockstep-labs';
            app.shell.add(widget, 'top', {rank: 2000});
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
