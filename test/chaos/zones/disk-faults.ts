import type { Random } from '@holdfast/platform';
import { flipBit, tearEnd } from './damage.ts';
import type { Fault } from './faults.ts';
import type { Zones } from './zones.ts';

const SLOW_SYNC_MS = 300;
const anyZone = (random: Random): number => random.int(3);

/** A server that met an error of its disk writes nothing until it starts again. */
async function restart(zones: Zones, zone: number): Promise<void> {
  await zones.servers.kill(zone);
  await zones.servers.start(zone);
}

/** What happens to the disk of one zone, or of all. */
export const DISK_FAULTS = {
  'power-loss': {
    about: 'the machine of any zone loses its power: what its disk had not synced is gone',
    needsDisks: true,
    play: async (zones, { random }, hold) => {
      const zone = anyZone(random);
      await zones.servers.kill(zone);
      await zones.disks[zone]?.losePower();
      await hold();
      await zones.servers.start(zone);
    },
  },
  'all-power-loss': {
    about: 'all machines lose their power at once',
    needsDisks: true,
    play: async (zones) => {
      await Promise.all([0, 1, 2].map((zone) => zones.servers.kill(zone)));
      for (const disk of zones.disks) await disk.losePower();
      await Promise.all([0, 1, 2].map((zone) => zones.servers.start(zone)));
    },
  },
  'disk-full': {
    about: 'the disk of any zone is full; with room again its server starts anew',
    needsDisks: true,
    play: async (zones, { random }, hold) => {
      const zone = anyZone(random);
      await zones.disks[zone]?.fill(true);
      await hold();
      await zones.disks[zone]?.fill(false);
      await restart(zones, zone);
    },
  },
  'disk-read-only': {
    about: 'nothing can be written on the disk of any zone; afterwards its server starts anew',
    needsDisks: true,
    play: async (zones, { random }, hold) => {
      const zone = anyZone(random);
      await zones.disks[zone]?.protect(true);
      await hold();
      await zones.disks[zone]?.protect(false);
      await restart(zones, zone);
    },
  },
  'disk-slow': {
    about: `each sync of the disk of any zone takes ${SLOW_SYNC_MS} ms more`,
    needsDisks: true,
    play: async (zones, { random }, hold) => {
      const zone = anyZone(random);
      await zones.disks[zone]?.slow(SLOW_SYNC_MS);
      await hold();
      await zones.disks[zone]?.slow(0);
    },
  },
  'torn-end': {
    about: 'the server of any zone is killed while it writes: each of its files ends with half an entry',
    play: async (zones, { random }, hold) => {
      const zone = anyZone(random);
      await zones.servers.kill(zone);
      await tearEnd(zones.servers.folderOf(zone), random);
      await hold();
      await zones.servers.start(zone);
    },
  },
  'flipped-bit': {
    about: 'the server of any zone is killed, and one bit of its files is another one when it starts again',
    play: async (zones, { random }, hold) => {
      const zone = anyZone(random);
      await zones.servers.kill(zone);
      await flipBit(zones.servers.folderOf(zone), random);
      await hold();
      await zones.servers.start(zone);
    },
  },
} as const satisfies Readonly<Record<string, Fault>>;
