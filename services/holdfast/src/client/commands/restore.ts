import { createIds, createSystemRandom } from '@holdfast/platform';
import { type Arguments, describeFlags, readArguments, type SettingSpecs } from '@holdfast/platform/config';
import { isLogAddress, LOG_ACCESS_SETTINGS } from '@holdfast/platform/log-address';
import { readStoreAddress } from '@holdfast/platform/store-address';
import { readStoreTls, STORE_TLS_SETTINGS } from '@holdfast/platform/tls-client';
import { ageOf } from '../../backup/age.ts';
import { type BackupContent, readBackupFile } from '../../backup/backup-file.ts';
import { agedContent, restoreInto, storeDirectory, type Target } from '../../backup/begin-with.ts';
import { DataDirectory } from '../../embedded/data-directory.ts';
import { lockDataDirectory } from '../../embedded/data-directory-lock.ts';
import type { Command, Terminal } from '../command.ts';
import { readLogTarget } from '../log-target.ts';
import { misuse } from '../misuse.ts';
import { PLAIN } from '../terminal/paint.ts';
import { toldLog } from '../terminal/told-log.ts';
import { showWork } from '../terminal/work.ts';

const SETTINGS = {
  'data-dir': { kind: 'string', help: 'New data directory of an embedded cluster', default: '.holdfast' },
  store: {
    kind: 'string',
    help: 'Empty Redis (redis://host:port) or NATS servers (nats://host:port,...), instead of a data directory',
  },
  ...LOG_ACCESS_SETTINGS,
  ...STORE_TLS_SETTINGS,
  json: { kind: 'boolean', help: 'Print one JSON document' },
  help: { kind: 'boolean', short: 'h', help: 'Print this help' },
} as const satisfies SettingSpecs;

const ABOUT =
  'Puts the objects of a backup into an empty store, after it has verified the file. The store continues in a new epoch above\n' +
  'all revisions that anybody has seen. For a cluster in memory: `start --memory --from FILE`.';

type Given = Arguments<typeof SETTINGS>['settings'];

export const RESTORE: Command = {
  settings: SETTINGS,
  run: async (argv, terminal) => {
    const { settings, words } = readArguments(SETTINGS, argv);
    if (settings.help) {
      terminal.print(`holdfast restore FILE\n\n${ABOUT}\n\n${describeFlags(SETTINGS).trimEnd()}`);
      return;
    }
    const [file, ...more] = words;
    if (file === undefined || more.length > 0) throw misuse('one file has to be named', 'Use `restore FILE`.');
    const content = await verified(file, terminal);
    const aged = agedContent(content, terminal.clock.now());
    const revision = await withTarget(settings, (target) => restoreInto(target, aged, machineOf(terminal)));
    const objects = content.objects.length;
    const { takenAt } = content.head;
    const { text: age, caution } = ageOf(takenAt, terminal.clock.now());
    if (caution !== undefined) terminal.tell(`${(terminal.paintTold ?? PLAIN).caution('Warning:')} ${caution}`);
    terminal.print(
      settings.json
        ? JSON.stringify({ objects, takenAt, backupRevision: content.revision, revision })
        : `${objects} objects of ${takenAt} (${age}) are restored; the store continues after revision ${revision}`,
    );
  },
};

async function verified(file: string, terminal: Terminal): Promise<BackupContent> {
  using work = showWork('objects verified', terminal);
  return await readBackupFile(file, (done, total) => work.at(done, total));
}

const machineOf = (terminal: Terminal) => ({
  clock: terminal.clock,
  ids: createIds(createSystemRandom()),
  log: toldLog(terminal),
});

async function withTarget(settings: Given, use: (target: Target) => Promise<number>): Promise<number> {
  if (settings.store !== undefined && isLogAddress(settings.store))
    return use({ kind: 'log', access: await readLogTarget(settings, settings.store) });
  if (settings.store !== undefined) {
    const url = readStoreAddress(settings.store, 'redis://host:port or rediss://host:port');
    return use({ kind: 'redis', url, tls: readStoreTls(settings) });
  }
  const directory = new DataDirectory(settings['data-dir'], { ephemeral: false });
  const lock = await lockDataDirectory(directory.path);
  try {
    return await use({ kind: 'sqlite', directory: storeDirectory(directory.path) });
  } finally {
    lock.release();
  }
}
