import { rename, rm, writeFile } from 'node:fs/promises';
import { openTestenv, type Testenv } from '@holdfast/cluster/testenv';
import { newToken } from '@holdfast/pki/credentials';
import { describeError, OperatorError } from '@holdfast/platform';
import { describeFlags, readArguments, type SettingSpecs } from '@holdfast/platform/config';
import { exitCodeOf } from '../child-command.ts';
import type { Command, Terminal } from '../command.ts';
import { misuse } from '../misuse.ts';
import { askedToEnd } from '../signals.ts';

const SETTINGS = {
  port: { kind: 'integer', help: 'Port on 127.0.0.1; 0 takes a free one', default: 0, min: 0, max: 65_535 },
  'token-file': { kind: 'string', help: 'Writes the token to this file instead of the ready line' },
  'max-clusters': { kind: 'integer', help: 'Clusters at one time', default: 100, min: 1, max: 10_000 },
  'max-snapshots': { kind: 'integer', help: 'Snapshots at one time', default: 1_000, min: 1, max: 100_000 },
  json: { kind: 'boolean', help: 'Prints the ready line as JSON' },
  help: { kind: 'boolean', short: 'h', help: 'Print this help' },
} as const satisfies SettingSpecs;

const URL_VARIABLE = 'HOLDFAST_TESTENV_URL';
const TOKEN_VARIABLE = 'HOLDFAST_TESTENV_TOKEN';

const ABOUT =
  'Serves clusters for tests over HTTP and JSON on 127.0.0.1, until a signal ends it. /openapi.json describes the\n' +
  'operations. Every other request needs the token of the ready line. With a command it serves as long as this runs, and\n' +
  `exits with its code; the command finds the address in ${URL_VARIABLE} and the token in ${TOKEN_VARIABLE}.`;

export const TESTENV: Command = {
  settings: SETTINGS,
  run: async (argv, terminal) => {
    const { settings, words } = readArguments(SETTINGS, argv);
    if (settings.help) {
      terminal.print(
        `holdfast testenv [flags] [-- <command> [arguments]]\n\n${ABOUT}\n\n${describeFlags(SETTINGS).trimEnd()}`,
      );
      return 0;
    }
    const command = commandOf(words, argv, settings);
    const token = newToken();
    const testenv = openTestenv({
      port: settings.port,
      token,
      limits: { clusters: settings['max-clusters'], snapshots: settings['max-snapshots'] },
      onFailure: (error) => terminal.tell(`holdfast testenv: a request failed: ${describeError(error)}`),
    });
    await testenv.start();
    try {
      if (command !== undefined) {
        const { env } = terminal;
        const variables = { [URL_VARIABLE]: testenv.url, [TOKEN_VARIABLE]: token };
        return await exitCodeOf(command.program, command.args, { ...env, ...variables });
      }
      await serveUntilSignal(testenv, { token, tokenFile: settings['token-file'], asJson: settings.json }, terminal);
      return 0;
    } finally {
      await testenv.stop();
    }
  },
};

interface ProgramToRun {
  readonly program: string;
  readonly args: readonly string[];
}

/** What stands behind `--`. */
function commandOf(
  words: readonly string[],
  argv: readonly string[],
  settings: { readonly json: boolean; readonly 'token-file'?: string | undefined },
): ProgramToRun | undefined {
  const [program, ...args] = words;
  if (program === undefined && argv.at(-1) !== '--') return undefined;
  if (program === undefined || program === '') {
    throw misuse('no command stands behind --', 'Write it there, as in `testenv -- pytest`, or leave -- out.');
  }
  if (argv[argv.length - words.length - 1] !== '--') {
    throw misuse(
      `testenv does not know "${program}"`,
      'Use flags, --help lists them; write a command after --, as in `testenv -- pytest`.',
    );
  }
  if (settings.json || settings['token-file'] !== undefined) {
    throw misuse(
      'a command is told the address and the token by its environment',
      `Leave out --json and --token-file; the command reads ${URL_VARIABLE} and ${TOKEN_VARIABLE}.`,
    );
  }
  return { program, args };
}

interface Readiness {
  readonly token: string;
  /** Absent: the ready line has the token. */
  readonly tokenFile: string | undefined;
  readonly asJson: boolean;
}

async function serveUntilSignal({ url }: Testenv, readiness: Readiness, { print }: Terminal): Promise<void> {
  const { token, tokenFile, asJson } = readiness;
  // Before the ready line: who reads it may send the signal at once.
  const ended = askedToEnd(process);
  if (tokenFile !== undefined) await writeToken(tokenFile, token);
  try {
    print(asJson ? jsonLine(url, readiness) : textLine(url, readiness));
    await ended;
  } finally {
    if (tokenFile !== undefined) await rm(tokenFile, { force: true });
  }
}

const jsonLine = (url: string, { token, tokenFile }: Readiness): string =>
  JSON.stringify({ url, openapi: `${url}/openapi.json`, ...(tokenFile === undefined ? { token } : { tokenFile }) });

const textLine = (url: string, { token, tokenFile }: Readiness): string =>
  `testenv is ready at ${url} (${tokenFile === undefined ? `token ${token}` : `token in ${tokenFile}`})`;

/** A new file replaces one that others may read. */
async function writeToken(file: string, token: string): Promise<void> {
  const draft = `${file}.${process.pid}`;
  try {
    await writeFile(draft, `${token}\n`, { mode: 0o600, flag: 'wx' });
    await rename(draft, file);
  } catch (cause) {
    throw new OperatorError({
      code: 'TokenFile',
      message: `the token cannot be written to ${file}: ${describeError(cause)}`,
      nextStep: 'Choose another file with --token-file.',
      cause,
    });
  }
}
