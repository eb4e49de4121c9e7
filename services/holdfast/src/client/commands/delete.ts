import type { KubeObject } from '@holdfast/api';
import type { Target } from '@holdfast/client';
import { defineCommand } from '../command.ts';
import { requireConfirmation } from '../confirmation.ts';
import { type DeletionWish, deleteRequest, outcomeOf, risksOf } from '../deletion.ts';
import { misuse } from '../misuse.ts';
import { type Named, resolveWords } from '../resources.ts';
import type { Session } from '../session.ts';

export const DELETE = defineCommand({
  usage: 'delete <resource> <name>...',
  about:
    'Asks objects to end: a pod gets its grace period, and its node removes it when its processes have ended.\n' +
    'Force deletion and deleting a Node wait for nobody; they say what that risks and need --confirm.',
  settings: {
    'grace-period': { kind: 'integer', min: 0, help: 'Grace period in seconds; 0 is force deletion' },
    force: { kind: 'boolean', help: 'Force deletion: remove the object immediately' },
    confirm: { kind: 'boolean', help: 'Proceed despite the warning' },
    json: { kind: 'boolean', help: 'One JSON document a line: resource, name, outcome' },
  },
  act: async ({ settings, words }, session, terminal) => {
    const { named } = await resolveWords(words, session);
    if (named.length === 0) throw misuse('no object was named', 'Name at least one: `delete pod web`.');
    const wish: DeletionWish = { gracePeriodSeconds: settings['grace-period'], force: settings.force };
    const found = await Promise.all(
      named.map(async (each) => ({
        ...each,
        object: await session.client.get(each.resource, targetOf(each, session)),
      })),
    );
    const risks = found.flatMap(({ object }) => risksOf(wish, object));
    requireConfirmation(risks, 'nothing was deleted', settings, terminal);
    for (const each of found) {
      const outcome = await remove(each, wish, session);
      const { resource, name } = each;
      terminal.print(settings.json ? JSON.stringify({ resource: resource.plural, name, outcome }) : outcome);
    }
  },
});

async function remove(
  { object, ...named }: Named & { readonly object: KubeObject },
  wish: DeletionWish,
  session: Session,
): Promise<string> {
  const target = targetOf(named, session);
  await session.client.delete(named.resource, target, deleteRequest(wish, object));
  return outcomeOf(wish, object, await session.client.find(named.resource, target));
}

const targetOf = ({ resource, name }: Named, { namespace }: Session): Target =>
  resource.namespaced ? { namespace, name } : { name };
