import { X509Certificate } from 'node:crypto';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { connect } from 'node:tls';
import { createSystemClock } from '@holdfast/platform';
import { waitFor } from '../../support/wait.ts';
import { addressesOf, docker, pidOf } from '../losses/faults.ts';
import { apiServersOf, serviceOf } from '../support/compose-form.ts';
import { expiredIdentity, goodIdentity, putIdentity } from './certificates.ts';
import { moveClock, slowClock } from './clocks.ts';
import { addRules, containerOf } from './containers.ts';
import { Holds } from './holds.ts';
import type { Begin } from './users.ts';

/** Docker's server of names in each container. */
const NAMES = '127.0.0.11';
const MEGABYTE = 1024 * 1024;
const STOP_SECONDS = '5';
const API_PORT = 6443;
const ASK_TIMEOUT_MS = 2_000;
const SHOWN_WITHIN_MS = 60_000;
/** More than any machine of a test has: no limit. */
const UNLIMITED = String(1024 * 1024 * MEGABYTE);

/** What the machine around a process does to it. */
export const SURROUNDINGS: Readonly<
  Record<'no-names' | 'tight-memory' | 'expired-certificate' | 'clock-jump' | 'clock-slow', Begin>
> = {
  'no-names': (cluster, { target }) =>
    addRules(containerOf(cluster, target), [['OUTPUT', '--destination', NAMES, '--jump', 'REJECT']]),
  'tight-memory': async (cluster, { target, value = 0 }) => {
    const container = containerOf(cluster, target);
    const limit = (bytes: string): Promise<string> =>
      docker('update', '--memory', bytes, '--memory-swap', bytes, container);
    await limit(String((await memoryOf(container)) + value * MEGABYTE));
    return () => limit(UNLIMITED);
  },
  'expired-certificate': async (cluster, { target }) => {
    const container = containerOf(cluster, target);
    const folder = cluster.filesOf(serviceOf(target));
    const release = EXPIRED.hold([container]);
    const renew = (): boolean => {
      const isLast = release().length > 0;
      if (isLast) putIdentity(folder, goodIdentity(cluster.stateFolder));
      return isLast;
    };
    try {
      putIdentity(folder, await expiredIdentity(cluster.stateFolder, apiServersOf(cluster.form)));
      await docker('restart', '--time', STOP_SECONDS, container);
      // It reads its files some time after the engine has started it.
      await waitFor(`${target} to show an expired certificate`, shows(container, 'expired'), SHOWN_WITHIN_MS);
    } catch (error) {
      renew();
      throw error;
    }
    return async () => {
      if (!renew()) return;
      // No restart: it follows its files. Without its store it may not listen at all.
      await waitFor(`${target} to show its certificate`, shows(container, 'valid'), SHOWN_WITHIN_MS).catch(() => {});
    };
  },
  'clock-jump': (cluster, { target, value = 0 }) => moveClock(cluster, target, value),
  'clock-slow': (cluster, { target, value = 0 }) => slowClock(cluster, target, value),
};

/** The good one comes back with the end of the last step that has put an expired one there. */
const EXPIRED = new Holds();

const shows = (container: string, wanted: Validity) => (): Promise<boolean> =>
  validityOf(container).then(
    (shown) => shown === wanted,
    () => false,
  );

type Validity = 'valid' | 'expired';

/** Asks the server itself. */
async function validityOf(container: string): Promise<Validity> {
  const [host] = await addressesOf(container);
  const socket = connect({ host, port: API_PORT, rejectUnauthorized: false });
  socket.setTimeout(ASK_TIMEOUT_MS, () => socket.destroy(new Error(`${container} does not answer`)));
  try {
    await once(socket, 'secureConnect');
    const { raw } = socket.getPeerCertificate();
    return new X509Certificate(raw).validToDate.getTime() < createSystemClock().now() ? 'expired' : 'valid';
  } finally {
    socket.destroy();
  }
}

/** What its processes have, and what the kernel keeps for them. */
async function memoryOf(container: string): Promise<number> {
  const pid = await pidOf(container);
  const group = readFileSync(`/proc/${pid}/cgroup`, 'utf8');
  const [, first] = /^\d+:memory:(.*)$/m.exec(group) ?? [];
  const [, second = ''] = /^0::(.*)$/m.exec(group) ?? [];
  const file =
    first === undefined
      ? `/sys/fs/cgroup${second}/memory.current`
      : `/sys/fs/cgroup/memory${first}/memory.usage_in_bytes`;
  return Number(readFileSync(file, 'utf8'));
}
