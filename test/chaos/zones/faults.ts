import type { Random } from '@holdfast/platform';
import { DISK_FAULTS } from './disk-faults.ts';
import { anyZone, type Zones } from './zones.ts';

/** What happens to a cluster of three zones, and how it ends. `hold` resolves when the fault has lasted long enough. */
export interface Fault {
  readonly about: string;
  /** It needs disks of its own. */
  readonly needsDisks?: boolean;
  play(
    zones: Zones,
    where: { readonly leader: number; readonly random: Random },
    hold: () => Promise<void>,
  ): Promise<void>;
}

const follower = (leader: number, random: Random): number => (leader + 1 + random.int(2)) % 3;

async function killAndStart(zones: Zones, zone: number, hold: () => Promise<void>): Promise<void> {
  await zones.servers.kill(zone);
  await hold();
  await zones.servers.start(zone);
}

export const FAULTS = {
  'leader-kill': {
    about: 'SIGKILL of the server that leads the log; it starts again',
    play: (zones, { leader }, hold) => killAndStart(zones, leader, hold),
  },
  'leader-pause': {
    about: 'SIGSTOP of the server that leads the log; it continues as if nothing had happened',
    play: async (zones, { leader }, hold) => {
      zones.servers.pause(leader);
      await hold();
      zones.servers.resume(leader);
    },
  },
  'leader-moved': {
    about: 'the leader of the log hands over to another server, in order',
    play: async (zones, _where, hold) => {
      await zones.moveLeader();
      await hold();
    },
  },
  'follower-kill': {
    about: 'SIGKILL of a server that follows; it starts again',
    play: (zones, { leader, random }, hold) => killAndStart(zones, follower(leader, random), hold),
  },
  'zone-cut': {
    about: 'nothing passes between a zone (server and store) and the two others; both sides run on',
    play: async (zones, { random }, hold) => {
      zones.cut(anyZone(random));
      await hold();
      zones.heal();
    },
  },
  'leader-cut': {
    about: 'the same for the zone of the leader',
    play: async (zones, { leader }, hold) => {
      zones.cut(leader);
      await hold();
      zones.heal();
    },
  },
  'zone-kill': {
    about: 'the server of a zone is killed and its store ends; both start again',
    play: async (zones, { random }, hold) => {
      const zone = anyZone(random);
      await zones.servers.kill(zone);
      await hold();
      await zones.servers.start(zone);
      await zones.replaceStore(zone);
    },
  },
  'disk-lost': {
    about: 'the server that leads the log is killed, and its disk is lost',
    play: async (zones, { leader }, hold) => {
      await zones.servers.kill(leader);
      await zones.servers.wipe(leader);
      await hold();
      await zones.servers.start(leader);
    },
  },
  'all-killed': {
    about: 'SIGKILL of all three servers at once; all start again',
    play: async (zones) => {
      await Promise.all([0, 1, 2].map((zone) => zones.servers.kill(zone)));
      await Promise.all([0, 1, 2].map((zone) => zones.servers.start(zone)));
    },
  },
  ...DISK_FAULTS,
} as const satisfies Readonly<Record<string, Fault>>;

export type FaultName = keyof typeof FAULTS;
