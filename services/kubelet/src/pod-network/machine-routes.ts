import { createHash } from 'node:crypto';
import { hasHelper, helper } from '../runtime/helpers.ts';
import { run } from './agent/run.ts';
import { canFilter } from './launch.ts';
import { areMachineRulesHeld } from './machine-rules.ts';

/** The machine's end of the link of the network in this directory. */
export const machineLinkName = (directory: string): string =>
  `hf-${createHash('sha256').update(directory).digest('hex').slice(0, 8)}`;

/** Why this machine cannot be led to pods and services; '' when it can. It may only be asked for what nobody else has. */
export async function machineLinkRefusal(networks: readonly string[], ownLink: string): Promise<string> {
  if (process.getuid?.() !== 0) return 'only root may link the two';
  if (!canFilter()) return 'nft is not installed';
  if (!hasHelper('ip')) return 'ip is not installed';
  if (await areMachineRulesHeld()) return 'a cluster whose pods are containers has the addresses of services here';
  const found = await Promise.all(networks.map((network) => routesInto(network)));
  return overlap(networks, found, ownLink);
}

/** Every route that leads to a part of the network, or to more than it. */
async function routesInto(network: string): Promise<string> {
  const show = (selection: string): Promise<string> => run([helper('ip'), '-4', 'route', 'show', selection, network]);
  const [inside, around] = await Promise.all([show('root'), show('match')]);
  return `${inside}${around}`;
}

/** Marks the routes between nodes of a cluster. Numbers up to 186 are those of other programs. */
export const NODE_ROUTES_PROTOCOL = 212;

/**
 * `found`: for each network what `ip route` shows. The default route, those between nodes and those of the own link are no
 * obstacle. Pure.
 */
export function overlap(networks: readonly string[], found: readonly string[], ownLink: string): string {
  for (const [index, network] of networks.entries()) {
    const lines = (found[index] ?? '').split('\n').map((line) => line.trim());
    const foreign = lines.find((line) => line !== '' && !line.startsWith('default') && !isOurs(line, ownLink));
    if (foreign !== undefined) return `this machine has another route for ${network}: ${foreign}`;
  }
  return '';
}

const isOurs = (route: string, ownLink: string): boolean =>
  route.split(' ').includes(ownLink) || `${route} `.includes(` proto ${NODE_ROUTES_PROTOCOL} `);
