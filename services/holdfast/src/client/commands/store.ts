import { existsSync } from 'node:fs';
import path from 'node:path';
import { createIds, createSystemRandom, OperatorError } from '@holdfast/platform';
import { type Arguments, describeFlags, readArguments, type SettingSpecs } from '@holdfast/platform/config';
import { isLogAddress, LOG_ACCESS_SETTINGS } from '@holdfast/platform/log-address';
import { readStoreAddress } from '@holdfast/platform/store-address';
import { readStoreTls, STORE_TLS_SETTINGS } from '@holdfast/platform/tls-client';
import type { Command, Terminal } from '../command.ts';
import { requireConfirmation } from '../confirmation.ts';
import { readLogTarget } from '../log-target.ts';
import { misuse } from '../misuse.ts';
import { toldLog } from '../terminal/told-log.ts';

const SETTINGS = {
  'data-dir': {
    kind: 'string',
    help: 'Data directory of the cluster; stop its server first',
    default: '.holdfast',
  },
  store: {
    kind: 'string',
    help: 'Redis (redis://host:port) or NATS servers (nats://host:port,...) of the cluster, instead of a data directory',
  },
  ...LOG_ACCESS_SETTINGS,
  ...STORE_TLS_SETTINGS,
  confirm: { kind: 'boolean', help: 'Proceed despite the warning' },
  json: { kind: 'boolean', help: 'Print one JSON document: revision' },
  help: { kind: 'boolean', short: 'h', help: 'Print this help' },
} as const satisfies SettingSpecs;

const ABOUT =
  'Ends a halt: continues with the data as they are, in a new epoch. Revisions jump above all that anybody has seen, every client\n' +
  'lists anew, and API servers that still run refuse until they are restarted. Nothing in the data is changed otherwise.';

type Given = Arguments<typeof SETTINGS>['settings'];

/** The only command that accesses the store itself: no API server serves while the store is halted. */
export const STORE: Command = {
  settings: SETTINGS,
  run: async (argv, terminal) => {
    const { settings, words } = readArguments(SETTINGS, argv);
    if (settings.help) {
      terminal.print(`holdfast store adopt\n\n${ABOUT}\n\n${describeFlags(SETTINGS).trimEnd()}`);
      return;
    }
    if (words.length !== 1 || words[0] !== 'adopt') throw misuse('the store can only be adopted', 'Use `store adopt`.');
    const risk =
      'what was written after these data were copied is lost: pods that were replaced since then may be named again, so make sure that no node still runs what the data do not know';
    requireConfirmation([risk], 'nothing was adopted', settings, terminal);
    const revision = await adopt(settings, terminal);
    const text = `adopted: the store continues after revision ${revision}; restart the API servers`;
    terminal.print(settings.json ? JSON.stringify({ revision }) : text);
  },
};

async function adopt(settings: Given, terminal: Terminal): Promise<number> {
  const { clock } = terminal;
  if (settings.store !== undefined && isLogAddress(settings.store)) return adoptLog(settings, settings.store, terminal);
  if (settings.store !== undefined) {
    const url = readStoreAddress(settings.store, 'redis://host:port or rediss://host:port');
    const tls = readStoreTls(settings);
    const { adoptRedisStore } = await import('@holdfast/store/redis');
    return adoptRedisStore({ url, clock, log: toldLog(terminal), ...(tls === undefined ? {} : { tls }) });
  }
  const directory = path.join(path.resolve(settings['data-dir']), 'store');
  if (!existsSync(path.join(directory, 'store.sqlite'))) throw noStore(directory);
  const { adoptSqliteStore } = await import('@holdfast/store/sqlite');
  return adoptSqliteStore(directory, createIds(createSystemRandom()).uuid());
}

async function adoptLog(settings: Given, store: string, terminal: Terminal): Promise<number> {
  const target = await readLogTarget(settings, store);
  const { adoptLogStore } = await import('@holdfast/store/log');
  const ids = createIds(createSystemRandom());
  return adoptLogStore({ ...target, clock: terminal.clock, ids, log: toldLog(terminal) });
}

const noStore = (directory: string): OperatorError =>
  new OperatorError({
    code: 'NoStore',
    message: `${directory} holds no store`,
    nextStep: 'Name the data directory of the cluster with --data-dir, or its Redis with --store.',
  });
