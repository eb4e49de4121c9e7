import { request } from 'node:http';
import { text } from 'node:stream/consumers';
import { waitFor } from '../../support/wait.ts';
import { addressesOf, docker } from '../losses/faults.ts';
import type { ComposeCluster } from '../support/compose-cluster.ts';
import { servicesOfZone, storesOf } from '../support/compose-form.ts';
import { addRules, kill } from './containers.ts';
import type { Begin, End } from './users.ts';

const MONITOR_PORT = 8222;
const ASK_TIMEOUT_MS = 2_000;
const STOP_SECONDS = '30';
const HEALTHY_WITHIN_MS = 120_000;

/** Faults of whole zones, which form H has. */
export const ZONE_FAULTS: Readonly<Record<'zone-cut' | 'zone-loss' | 'zone-upgrade', Begin>> = {
  'zone-cut': async (cluster, { target }) => {
    const own = servicesOfZone(target).map((service) => cluster.containerOf(service));
    const friends = await addressesOf(...own);
    const begun = await Promise.allSettled(own.map((container) => addRules(container, onlyAmong(friends))));
    const ends = begun.flatMap((each) => (each.status === 'fulfilled' ? [each.value] : []));
    const end: End = () => Promise.allSettled(ends.map((each) => each()));
    const failed = begun.find((each) => each.status === 'rejected');
    if (failed === undefined) return end;
    // A container that has ended meanwhile, for one: half a cut is none.
    await end();
    throw failed.reason;
  },
  'zone-loss': (cluster, { target }) => kill(...servicesOfZone(target).map((service) => cluster.containerOf(service))),
  'zone-upgrade': async (cluster, { target }) => {
    for (const service of servicesOfZone(target)) await replace(cluster.containerOf(service));
  },
};

/** The service of the server that leads the log. Throws when it has no leader. */
export async function leaderOfLog(cluster: ComposeCluster): Promise<string> {
  const views = await Promise.all(storesOf(cluster.form).map((store) => leaderAsSeenBy(cluster, store)));
  const leader = views.find((view) => view !== undefined);
  if (leader === undefined) throw new Error('the log has no leader');
  return leader;
}

interface StreamView {
  readonly name: string;
  readonly cluster?: { readonly leader?: string };
}

async function leaderAsSeenBy(cluster: ComposeCluster, store: string): Promise<string | undefined> {
  try {
    for (const host of await addressesOf(cluster.containerOf(store))) {
      const answer = JSON.parse(await ask(host).catch(() => '{}'));
      const accounts: readonly { readonly stream_detail?: readonly StreamView[] }[] = answer.account_details ?? [];
      const log = accounts.flatMap(({ stream_detail: streams = [] }) => streams).find(({ name }) => /_LOG_/.test(name));
      if (log?.cluster?.leader !== undefined) return log.cluster.leader;
    }
  } catch {
    // It is down.
  }
  return undefined;
}

function ask(host: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const options = { host, port: MONITOR_PORT, path: '/jsz?streams=true', timeout: ASK_TIMEOUT_MS };
    const asked = request(options, (answer) => void text(answer).then(resolve, reject));
    asked.on('error', reject).on('timeout', () => asked.destroy(new Error(`${host} does not answer`)));
    asked.end();
  });
}

/** Nothing reaches the container but these and itself, and nothing of it reaches others. */
const onlyAmong = (friends: readonly string[]): readonly (readonly string[])[] => [
  ...friends.flatMap((address) => [
    ['INPUT', '--source', address, '--jump', 'ACCEPT'],
    ['OUTPUT', '--destination', address, '--jump', 'ACCEPT'],
  ]),
  ['INPUT', '!', '--in-interface', 'lo', '--jump', 'DROP'],
  ['OUTPUT', '!', '--out-interface', 'lo', '--jump', 'DROP'],
];

/** It has time to end in order, and the next one waits until it is well. */
async function replace(container: string): Promise<void> {
  await docker('restart', '--time', STOP_SECONDS, container);
  const isHealthy = async (): Promise<boolean> =>
    (await docker('inspect', '--format', '{{.State.Health.Status}}', container)) === 'healthy';
  await waitFor(`${container} to be healthy`, isHealthy, HEALTHY_WITHIN_MS);
}
