import { BUS_PARTY } from '@holdfast/testing';
import type { SimCluster } from '../cluster.ts';
import { goodWay, type StoreWay } from './faulty-store.ts';
import type { FaultKind } from './kinds.ts';
import { heardKind } from './listeners.ts';
import { type Action, findPod, isOff, type Scene } from './scene.ts';

export const FAULT_ACTIONS: Readonly<Record<FaultKind, Action>> = {
  isolate: ({ cluster: { network } }, { target }) => {
    network.isolate(target);
    return () => network.rejoin(target);
  },
  'cut-to-api': ({ cluster }, { target }) =>
    cut(
      cluster,
      cluster.apiParties.map((api) => [target, api]),
    ),
  'cut-from-api': ({ cluster }, { target }) =>
    cut(
      cluster,
      cluster.apiParties.map((api) => [api, target]),
    ),
  'cut-master': ({ cluster: { network } }, { target }) => {
    network.isolate(target);
    return () => network.rejoin(target);
  },
  'lossy-link': ({ cluster }, { target, value }) => worsen(cluster, target, { loss: value ?? 0 }),
  'slow-link': ({ cluster }, { target, value }) => worsen(cluster, target, { maxLatencyMs: value ?? 0 }),
  'bus-outage': ({ cluster: { network } }) => {
    network.isolate(BUS_PARTY);
    return () => network.rejoin(BUS_PARTY);
  },
  'lossy-bus': ({ cluster: { network } }, { target, value = 0 }) => {
    network.setQuality(BUS_PARTY, target, { loss: value, duplication: value, maxLatencyMs: 1 + value * 5_000 });
    return () => network.setQuality(BUS_PARTY, target, {});
  },
  'store-down': ({ ways }, { target }) => change(ways.get(target), { isDown: true }),
  'store-slow': ({ ways }, { target, value = 0 }) => change(ways.get(target), { latencyMs: value }),
  'feed-lag': ({ ways }, { target, value = 0 }) => change(ways.get(target), { feedMs: value }),
  'store-unknown': ({ ways }, { target, value = 0 }) => change(ways.get(target), { unknown: value }),
  'store-full': ({ ways }) => changeAll([...ways.values()], { isFull: true }),
  'late-kind': ({ cluster }, step) =>
    cluster.channels.worsen(step.target, heardKind(step), { lateMs: step.value ?? 0 }),
  'lost-kind': ({ cluster }, step) => cluster.channels.worsen(step.target, heardKind(step), { isLost: true }),
  // The store fails over to its replica: it is unreachable, and the outcome of writes in flight is unknown.
  'store-failover': ({ ways }) => changeAll([...ways.values()], { isDown: true }),
  'too-many': ({ cluster: { busy } }, { target, value = 0 }) => {
    busy.set(target, value);
    return () => void busy.delete(target);
  },
  'short-history': ({ cluster: { forgetful } }, { target, value = 0 }) => {
    forgetful.set(target, value);
    return () => void forgetful.delete(target);
  },
  crash: ({ cluster, crashed }, { target }) => {
    cluster.crash(target);
    crashed.add(target);
    return () => {
      if (crashed.delete(target)) cluster.restart(target);
    };
  },
  'masters-down': (scene) => endParties(scene, scene.cluster.controlPlane),
  'crash-writing': ({ doomed, crashed }, { target, for: seconds = 0, value = 1 }) => {
    if (!crashed.has(target)) doomed.set(target, { writesLeft: value, seconds });
  },
  'kubelet-down': (scene, { target }) => {
    const { cluster, crashed } = scene;
    if (isOff(scene, target) || crashed.has(target)) return;
    cluster.killKubelet(target);
    crashed.add(target);
    return () => {
      if (crashed.delete(target) && !isOff(scene, target)) cluster.restartKubelet(target);
    };
  },
  'power-loss': (scene, { target }) => {
    const { cluster, poweredOff } = scene;
    if (isOff(scene, target)) return;
    poweredOff.add(target);
    cluster.powerOff(target);
    return () => {
      if (poweredOff.delete(target)) cluster.powerOn(target);
    };
  },
  'containers-lost': (scene, { target }) => {
    const { cluster, poweredOff } = scene;
    if (isOff(scene, target)) return;
    poweredOff.add(target);
    cluster.powerOff(target);
    cluster.loseContainers(target);
    return () => {
      if (poweredOff.delete(target)) cluster.powerOn(target);
    };
  },
  'kill-process': (scene, step) => {
    const { cluster, living, killed } = scene;
    const name = findPod(scene, step);
    for (const pod of living.all().filter((each) => each.name === name)) {
      killed.add(pod.uid);
      cluster.killProcesses(pod.node, pod.uid);
    }
  },
  pause: ({ cluster: { kernel } }, { target, for: seconds = 0 }) => kernel.pause(target, seconds * 1000),
  'clock-jump': ({ cluster }, { target, value = 0 }) => cluster.jumpClock(target, value),
  'clock-slow': ({ cluster }, { target, value = 0 }) => {
    cluster.setClockRate(target, 1 - value / 1000);
    return () => cluster.setClockRate(target, 1);
  },
  'disk-slow': ({ cluster }, { target, value = 0 }) => cluster.disks.worsen(target, { slowMs: value }),
  'disk-full': ({ cluster }, { target }) => cluster.disks.worsen(target, { isFull: true }),
  'zone-cut': ({ cluster: { network, controlPlane }, ways }, { target }) => {
    const parties = partiesOfZone(controlPlane, target);
    for (const party of parties) network.isolate(party);
    const ends = parties.map((party) => change(ways.get(party), { isDown: true }));
    return () => {
      for (const party of parties) network.rejoin(party);
      for (const end of ends) end?.();
    };
  },
  'zone-loss': (scene, { target }) => endParties(scene, partiesOfZone(scene.cluster.controlPlane, target)),
  // Nobody there has a part of the store; the processes themselves end as in a loss.
  'zone-upgrade': (scene, { target }) => endParties(scene, partiesOfZone(scene.cluster.controlPlane, target)),
  // Connections hide doubled packets and put them in order, and a message with a spoiled one is lost with its connection.
  'doubled-link': ({ cluster }, { target }) => worsen(cluster, target, { maxLatencyMs: DOUBLED_MS }),
  'reordered-link': ({ cluster }, { target }) => worsen(cluster, target, { maxLatencyMs: OVERTAKEN_MS }),
  'spoiled-link': ({ cluster }, { target, value = 0 }) => worsen(cluster, target, { loss: value }),
  'narrow-link': ({ cluster }, { target, value = 1 }) =>
    worsen(cluster, target, { maxLatencyMs: Math.min(SLOWEST_MS, NARROW_MS / Math.max(1, value)) }),
  // At worst none of its connections has lasted.
  'no-names': ({ cluster: { network } }, { target }) => {
    network.isolate(target);
    return () => network.rejoin(target);
  },
  'tight-memory': (scene, { target }) => endParties(scene, [target]),
  'expired-certificate': ({ cluster: { network } }, { target }) => {
    network.isolate(target);
    return () => network.rejoin(target);
  },
  // An election in order takes a moment in which the store answers nobody.
  'store-moved': ({ cluster, ways }) => {
    const end = changeAll([...ways.values()], { isDown: true });
    cluster.kernel.schedule({ delayMs: ELECTION_MS, label: 'a leader is elected', owner: 'hunt', fire: end });
  },
  'store-rewrites': ({ ways }) => changeAll([...ways.values()], { latencyMs: REWRITING_MS }),
  'store-torn': ({ ways }) => changeAll([...ways.values()], { isDown: true }),
  'expired-token': ({ cluster: { expired } }, { target }) => {
    expired.add(target);
    return () => void expired.delete(target);
  },
};

const DOUBLED_MS = 20;
const OVERTAKEN_MS = 200;
const [NARROW_MS, SLOWEST_MS] = [40_000, 4_000];
const ELECTION_MS = 500;
const REWRITING_MS = 50;

function endParties({ cluster, crashed }: Scene, parties: readonly string[]): () => void {
  const ended = parties.filter((party) => !crashed.has(party));
  for (const party of ended) {
    cluster.crash(party);
    crashed.add(party);
  }
  return () => {
    for (const party of ended) if (crashed.delete(party)) cluster.restart(party);
  };
}

/** Those with the number of the zone; the first of a kind has none. */
function partiesOfZone(parties: readonly string[], zone: string): readonly string[] {
  const number = zone.replace('zone-', '');
  return parties.filter((party) => (/-(\d)$/.exec(party)?.[1] ?? '1') === number);
}

/** A process has sent a write: the end of a process that was waiting for that. */
export function wrote(scene: Scene, party: string): void {
  const { cluster, crashed, doomed } = scene;
  const doom = doomed.get(party);
  if (doom === undefined || --doom.writesLeft > 0) return;
  doomed.delete(party);
  const isNode = cluster.nodeNames.includes(party);
  if (crashed.has(party) || (isNode && isOff(scene, party))) return;
  crashed.add(party);
  if (isNode) cluster.killKubelet(party);
  else cluster.crash(party);
  const restart = (): void => {
    if (!crashed.delete(party)) return;
    if (!isNode) cluster.restart(party);
    else if (!isOff(scene, party)) cluster.restartKubelet(party);
  };
  cluster.kernel.schedule({ delayMs: doom.seconds * 1000, label: `restart ${party}`, owner: 'hunt', fire: restart });
}

function cut({ network }: SimCluster, links: readonly (readonly [string, string])[]): () => void {
  for (const [from, to] of links) network.block(from, to);
  return () => {
    for (const [from, to] of links) network.unblock(from, to);
  };
}

/** Between a process and all API servers, in both directions. */
function worsen(
  { network, apiParties }: SimCluster,
  target: string,
  quality: { loss?: number; maxLatencyMs?: number },
) {
  const set = (of: typeof quality): void => {
    for (const api of apiParties) {
      network.setQuality(target, api, of);
      network.setQuality(api, target, of);
    }
  };
  set(quality);
  return () => set({});
}

function changeAll(ways: readonly StoreWay[], to: Partial<StoreWay>): () => void {
  const ends = ways.map((way) => change(way, to));
  return () => {
    for (const end of ends) end();
  };
}

function change(way: StoreWay | undefined, to: Partial<StoreWay>): () => void {
  if (way === undefined) return () => {};
  Object.assign(way, to);
  const good = goodWay();
  return () => {
    // Steps overlap: each takes back only what it has made worse.
    if (to.isDown !== undefined) way.isDown = good.isDown;
    if (to.isFull !== undefined) way.isFull = good.isFull;
    if (to.latencyMs !== undefined) way.latencyMs = good.latencyMs;
    if (to.feedMs !== undefined) way.feedMs = good.feedMs;
    if (to.unknown !== undefined) way.unknown = good.unknown;
  };
}
