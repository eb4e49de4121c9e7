import { defineCommand } from '../command.ts';
import { misuse } from '../misuse.ts';

export const UI = defineCommand({
  usage: 'ui',
  about:
    'Prints a link that signs one browser in to the console, as the user of the kubeconfig.\n' +
    'It works once, within ten minutes. Without a console at the server (start --without console) there is none.',
  settings: { json: { kind: 'boolean', help: 'Print a JSON document with "url"' } },
  act: async ({ settings, words }, session, { print }) => {
    if (words.length > 0) throw misuse('ui takes no names', 'Use `ui`.');
    const { path } = (await session.postToConsole('/ui/link')) as { readonly path: string };
    const url = `${session.console}${path}`;
    print(settings.json ? JSON.stringify({ url }) : url);
  },
});
