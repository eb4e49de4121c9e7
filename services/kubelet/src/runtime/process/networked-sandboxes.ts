import type { Clock, Log } from '@holdfast/platform';
import { type ContainerRuntime, RuntimeError, type SandboxConfig } from '../port.ts';
import { REQUEST_DEADLINE_MS } from './limits.ts';
import { type NetworkedSandbox, NetworkKeeper, type ProcessNetwork } from './process-network.ts';
import type { SandboxNetwork } from './sandbox-network.ts';
import type { SupervisorConnection } from './supervisor-connection.ts';

interface NetworkedSandboxesDeps {
  readonly network?: ProcessNetwork | undefined;
  readonly nodeAddress: () => string;
  readonly clock: Clock;
  readonly log: Log;
  readonly connection: Pick<SupervisorConnection, 'ask'>;
}

type SandboxCalls = Pick<ContainerRuntime, 'runSandbox' | 'stopSandbox' | 'removeSandbox'>;

/** Sandboxes with a network of their own keep it from before their start until their processes have ended. */
export function networkedSandboxes(
  { network, nodeAddress, clock, log, connection }: NetworkedSandboxesDeps,
  plain: Omit<SandboxCalls, 'runSandbox'> & { readonly list: () => Promise<readonly NetworkedSandbox[]> },
): { readonly calls: SandboxCalls; readonly end: (graceMs: number) => Promise<void>; readonly close: () => void } {
  const run = (config: SandboxConfig, given?: { readonly ip: string; readonly network: SandboxNetwork }) =>
    connection.ask({ method: 'runSandbox', config, ip: nodeAddress(), ...given }, REQUEST_DEADLINE_MS).then(decodeId);
  if (network === undefined) {
    const calls = { runSandbox: (config: SandboxConfig) => run(config), ...pick(plain) };
    return { calls, end: async () => {}, close: () => {} };
  }
  const keeper = new NetworkKeeper({ network, clock, log, list: plain.list, stop: plain.stopSandbox });
  keeper.begin();
  /** After `end`, in which every process has ended. */
  const detaching = async (id: string, end: () => Promise<void>): Promise<void> => {
    const key = (await plain.list()).find((sandbox) => sandbox.id === id)?.network?.key;
    await end();
    if (key !== undefined) await network.detach(key);
  };
  const calls: SandboxCalls = {
    runSandbox: async (config) => {
      if (config.hostNetwork === true) return run(config);
      const { address, ...own } = await keeper.attach(config);
      return run(config, { ip: address, network: own });
    },
    stopSandbox: (id, graceMs) => detaching(id, () => plain.stopSandbox(id, graceMs)),
    removeSandbox: (id) => detaching(id, () => plain.removeSandbox(id)),
  };
  /** Their network ends: a later start makes new sandboxes. */
  const end = async (graceMs: number): Promise<void> => {
    keeper.close();
    const networked = (await plain.list()).filter((sandbox) => sandbox.network !== undefined);
    await Promise.all(networked.map(({ id }) => calls.stopSandbox(id, graceMs)));
  };
  return { calls, end, close: () => keeper.close() };
}

const pick = ({ stopSandbox, removeSandbox }: Omit<SandboxCalls, 'runSandbox'>) => ({
  stopSandbox,
  removeSandbox,
});

export function decodeId(answer: unknown): string {
  if (typeof answer === 'string') return answer;
  throw new RuntimeError('Internal', 'the supervisor answered without an id');
}
