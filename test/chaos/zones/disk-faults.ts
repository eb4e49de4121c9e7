import type { Random } from '@holdfast/platform';
import type { ForgetfulDisk } from '../../support/forgetful-disk.ts';
import { flipBit, tearEnd } from './damage.ts';
import type { Fault } from './faults.ts';
import { anyZone, ZONES, type Zones } from './zones.ts';

const SLOW_SYNC_MS = 300;

/** The disk of any zone is in trouble for a while. A server that met an error of its disk writes nothing until it starts again. */
const troubled = (
  about: string,
  { begin, end, isRestarted }: { begin: OnDisk; end: OnDisk; isRestarted: boolean },
): Fault => ({
  about,
  needsDisks: true,
  play: async (zones, { random }, hold) => {
    const zone = anyZone(random);
    await begin(zones.disks[zone]);
    await hold();
    await end(zones.disks[zone]);
    if (!isRestarted) return;
    await zones.servers.kill(zone);
    await zones.servers.start(zone);
  },
});

type OnDisk = (disk: ForgetfulDisk | undefined) => Promise<void> | undefined;

/** The server of any zone is killed, and finds something else on its disk when it starts again. */
const killed =
  (harm: (zones: Zones, zone: number, random: Random) => Promise<unknown> | undefined): Fault['play'] =>
  async (zones, { random }, hold) => {
    const zone = anyZone(random);
    await zones.servers.kill(zone);
    await harm(zones, zone, random);
    await hold();
    await zones.servers.start(zone);
  };

/** What happens to the disk of one zone, or of all. */
export const DISK_FAULTS = {
  'power-loss': {
    about: 'the machine of any zone loses its power: what its disk had not synced is gone',
    needsDisks: true,
    play: killed((zones, zone) => zones.disks[zone]?.losePower()),
  },
  'all-power-loss': {
    about: 'all machines lose their power at once',
    needsDisks: true,
    play: async (zones) => {
      await Promise.all(ZONES.map((zone) => zones.servers.kill(zone)));
      for (const disk of zones.disks) await disk.losePower();
      await Promise.all(ZONES.map((zone) => zones.servers.start(zone)));
    },
  },
  'disk-full': troubled('the disk of any zone is full; with room again its server starts anew', {
    begin: (disk) => disk?.fill(true),
    end: (disk) => disk?.fill(false),
    isRestarted: true,
  }),
  'disk-read-only': troubled('nothing can be written on the disk of any zone; afterwards its server starts anew', {
    begin: (disk) => disk?.protect(true),
    end: (disk) => disk?.protect(false),
    isRestarted: true,
  }),
  'disk-slow': troubled(`each sync of the disk of any zone takes ${SLOW_SYNC_MS} ms more`, {
    begin: (disk) => disk?.slow(SLOW_SYNC_MS),
    end: (disk) => disk?.slow(0),
    isRestarted: false,
  }),
  'torn-end': {
    about: 'the server of any zone is killed while it writes: each of its files ends with half an entry',
    play: killed((zones, zone, random) => tearEnd(zones.servers.folderOf(zone), random)),
  },
  'flipped-bit': {
    about: 'the server of any zone is killed, and one bit of its files is another one when it starts again',
    play: killed((zones, zone, random) => flipBit(zones.servers.folderOf(zone), random)),
  },
} as const satisfies Readonly<Record<string, Fault>>;
