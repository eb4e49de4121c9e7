import { PERSISTENT_VOLUMES } from '@holdfast/api';
import { defineCommand } from '../command.ts';
import { requireConfirmation } from '../confirmation.ts';
import { breakingPatch, riskOfBreaking } from '../detachment.ts';
import { misuse, plainName } from '../misuse.ts';

export const DETACH = defineCommand({
  usage: 'detach volume <name>',
  about:
    'Breaks the attachment of a volume to its node without the word of that node, so that another node may have it.\n' +
    'Only for a node that is off, or cut off from the storage: this client cannot see whether it still writes.',
  settings: {
    confirm: { kind: 'boolean', help: 'Proceed despite the warning' },
    json: { kind: 'boolean', help: 'One JSON document: volume, node that it was attached to' },
  },
  act: async ({ settings, words: [what = '', word = '', ...more] }, { client }, terminal) => {
    if (what !== 'volume' || word === '' || more.length > 0) {
      throw misuse('one volume has to be named', 'Use `detach volume <name>`, with the name of the PersistentVolume.');
    }
    const name = plainName(word);
    const volume = await client.get(PERSISTENT_VOLUMES, { name });
    const risk = riskOfBreaking(volume);
    const node = volume.status.attachment?.nodeName ?? null;
    const tell = (text: string): void =>
      terminal.print(settings.json ? JSON.stringify({ volume: name, node: risk === undefined ? null : node }) : text);
    if (risk === undefined) {
      tell(`volume "${name}" is attached to no node`);
      return;
    }
    requireConfirmation([risk], 'no attachment was broken', settings, terminal);
    const patch = { type: 'merge', body: breakingPatch(volume), subresource: 'status' } as const;
    await client.patch(PERSISTENT_VOLUMES, { name }, patch);
    tell(`attachment of volume "${name}" to node ${node ?? ''} broken`);
  },
});
