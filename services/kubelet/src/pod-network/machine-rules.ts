import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { connect, createServer } from 'node:net';
import { hasHelper, helper } from '../runtime/helpers.ts';
import { run } from './agent/run.ts';

/**
 * One cluster at a time has the rules of the machine. A name without a file belongs to the network namespace, and ends with
 * its process.
 */
const PLACE = '\0holdfast-service-rules';

/** Packets between two ports of a bridge pass the rules of IPv4 only where this is on. */
const BRIDGES_ARE_FILTERED = '/proc/sys/net/bridge/bridge-nf-call-iptables';

export interface MachineRulesHold {
  release(): void;
}

/** `undefined`: another cluster of this machine has them. */
export async function holdMachineRules(place = PLACE): Promise<MachineRulesHold | undefined> {
  const server = createServer((socket) => socket.destroy());
  try {
    server.listen(place);
    await once(server, 'listening');
  } catch {
    return undefined;
  }
  server.unref();
  return { release: () => void server.close() };
}

export async function areMachineRulesHeld(place = PLACE): Promise<boolean> {
  const socket = connect(place);
  try {
    await once(socket, 'connect');
    return true;
  } catch {
    return false;
  } finally {
    socket.destroy();
  }
}

/** Why no rules for services can be loaded into the network of this machine; '' when they can. */
export async function machineRulesRefusal(serviceNetwork: string): Promise<string> {
  if (process.getuid?.() !== 0) return 'only root may load rules into the network of this machine';
  const missing = ['nft', 'ip'].filter((name) => !hasHelper(name));
  if (missing.length > 0) return `${missing.join(' and ')} is not installed`;
  const routes = await run([helper('ip'), '-4', 'route', 'show', 'root', serviceNetwork]).catch(() => '');
  return leadsToPods(routes) ? `this machine leads ${serviceNetwork} to the pods of another cluster` : '';
}

/** What `ip route` shows has the link of a cluster whose pods are processes. Pure. */
export const leadsToPods = (routes: string): boolean => /\bdev hf-[0-9a-f]{8}\b/.test(routes);

export function areBridgesFiltered(file = BRIDGES_ARE_FILTERED): boolean {
  try {
    return readFileSync(file, 'utf8').trim() === '1';
  } catch {
    return false;
  }
}
