import { after, before, describe, test } from 'node:test';
import { waitFor } from '../support/wait.ts';
import { type ComposeCluster, startComposeCluster } from './support/compose-cluster.ts';
import { assertConsoleServes } from './support/console-flow.ts';
import { cutOffNode, forceDoubleRun } from './support/cut-node.ts';
import { cutStore, killServers } from './support/failing-servers.ts';
import { assertOwnAddresses, assertServicesReachPods, createGreeters, NETWORK_FILE } from './support/pod-networks.ts';
import { assertStreamsReachPods } from './support/pod-streams.ts';
import { allReady, createWorkloads, describePods } from './support/workloads.ts';

/** More than two heartbeats of a node (10 s): shorter silence means nothing. */
const NODE_MONITOR_GRACE_SECONDS = 24;
const SETTLE_DEADLINE_MS = 60_000;

/** One cluster for all: its containers take as long to start as two of the tests. */
describe('the distributed form', () => {
  let cluster: ComposeCluster;
  before(async () => {
    const settings = {
      HOLDFAST_NODE_MONITOR_GRACE_SECONDS: String(NODE_MONITOR_GRACE_SECONDS),
      // This tests the guarantees without a watchdog.
      HOLDFAST_SELF_FENCING: 'off',
      // A node without the rights for it must not start: it would run the tests without the network that they are about.
      HOLDFAST_POD_NETWORK: 'private',
    };
    cluster = await startComposeCluster('holdfast-chaos-distributed', settings, { files: [NETWORK_FILE] });
    await createWorkloads(cluster.admin);
    await createGreeters(cluster);
    await waitFor('every pod to be ready', () => allReady(cluster.admin), SETTLE_DEADLINE_MS);
  });
  after(() => cluster?.[Symbol.asyncDispose]());

  /** Shows what there was when a test failed. */
  const explained = (run: () => Promise<void>) => async (): Promise<void> => {
    try {
      await run();
    } catch (error) {
      process.stderr.write(`${await cluster.logs()}\n${await describePods(cluster.admin).catch(String)}\n`);
      throw error;
    }
  };

  test(
    'exec, attach, cp and port-forward reach a pod on its node through each API server',
    explained(() => assertStreamsReachPods(cluster)),
  );
  test(
    'the console of its container signs in by a link, opens terminals, and follows while an API server is lost',
    explained(() => assertConsoleServes(cluster)),
  );
  test(
    '[TEST-03] [SAFE-33] API servers cut from the store: writes are refused, no pod is evicted, no acknowledged write is lost',
    explained(() => cutStore(cluster)),
  );
  test(
    '[TEST-10] redis, nats and an API server killed in turn: no acknowledged write is lost, and work continues',
    explained(() => killServers(cluster)),
  );
  test(
    'a pod reaches pods of every node at the address and by the name of their service, and the API at its own',
    explained(async () => {
      await assertServicesReachPods(cluster, 'asker');
      await assertOwnAddresses(cluster);
    }),
  );
  test(
    '[TEST-01] [TEST-07] [SAFE-22] [SAFE-23] [SAFE-25] [SAFE-30] [SAFE-32] a node that is cut off longer than the ' +
      'eviction time: no identity runs twice, stateless work moves, the cluster heals when it returns',
    explained(() => cutOffNode(cluster)),
  );
  // The last who judge lives: an administrator forces one identity to live twice.
  test(
    '[TEST-07] [SAFE-21] heartbeat files show a double run when an administrator forces one, and the returning node ends it',
    explained(() => forceDoubleRun(cluster)),
  );
  test(
    'after the cuts the ways between the nodes are there again',
    explained(() => assertServicesReachPods(cluster, 'asker-afterwards')),
  );
});
