import { spawnSync } from 'node:child_process';
import {
  chmodSync,
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { runApt } from './apt.ts';

/** Debian's releases whose packages are taken where those of the stable one are too old. */
export type NextSuite = 'trixie' | 'forky';

export interface WantedFile {
  readonly packageName: string;
  /** Path inside the package, without the leading slash. */
  readonly file: string;
  readonly target: string;
  readonly suite: NextSuite;
  /** The manual step when this does not work. */
  readonly byHand: string;
}

/**
 * Unpacks one program out of a package of a later Debian release. The mirror is the one this machine uses already; nothing is
 * installed, and the system's own package sources stay untouched.
 */
export function unpackFromNextDebian(wanted: WantedFile): void {
  process.stdout.write(`unpacking ${wanted.packageName} of Debian ${wanted.suite}\n`);
  const scratch = mkdtempSync(path.join(tmpdir(), 'holdfast-debian-'));
  try {
    const options = aptOptions(scratch, wanted);
    const steps = [
      ['update', '-q'],
      ['download', `${wanted.packageName}/${wanted.suite}`],
    ];
    runApt(
      steps.map((step) => [...options, ...step]),
      { byHand: wanted.byHand, cwd: scratch },
    );
    const archive = readdirSync(scratch).find((file) => file.endsWith('.deb'));
    if (archive === undefined) throw new Error(`apt-get downloaded nothing. ${wanted.byHand}`);
    run('dpkg-deb', ['-x', archive, scratch], scratch, wanted);
    mkdirSync(path.dirname(wanted.target), { recursive: true });
    copyFileSync(path.join(scratch, wanted.file), wanted.target);
    chmodSync(wanted.target, 0o755);
  } finally {
    rmSync(scratch, { recursive: true, force: true });
  }
}

/** Takes the first of these that this system can start. A later one needs a line of explanation. */
export function unpackFirstThatStarts(
  choices: readonly WantedFile[],
  { unpack = unpackFromNextDebian, print = (line: string): void => void process.stdout.write(line) } = {},
): void {
  for (const [index, wanted] of choices.entries()) {
    const isLast = index === choices.length - 1;
    const failure = failureOf(wanted, unpack);
    if (failure === undefined) return;
    if (isLast) throw new Error(`${wanted.packageName} of Debian ${wanted.suite}: ${failure}. ${wanted.byHand}`);
    print(`${wanted.packageName} of Debian ${wanted.suite} is not used: ${failure}\n`);
  }
}

/** A program that cannot start is removed, so that the next set-up does not take it for a good one. */
function failureOf(wanted: WantedFile, unpack: (wanted: WantedFile) => void): string | undefined {
  try {
    unpack(wanted);
  } catch (error) {
    return firstLine(error instanceof Error ? error.message : String(error));
  }
  const { error, status, stderr } = spawnSync(wanted.target, ['--version'], { encoding: 'utf8', timeout: 30_000 });
  if (error === undefined && status === 0) return undefined;
  rmSync(wanted.target, { force: true });
  return `it cannot start here: ${firstLine(error?.message ?? stderr)}`;
}

const firstLine = (text: string): string => text.trim().split('\n')[0] ?? '';

function aptOptions(scratch: string, wanted: WantedFile): readonly string[] {
  for (const folder of ['lists/partial', 'archives/partial'])
    mkdirSync(path.join(scratch, folder), { recursive: true });
  const sources = path.join(scratch, 'next.list');
  const keyring = '/usr/share/keyrings/debian-archive-keyring.gpg';
  writeFileSync(sources, `deb [signed-by=${keyring}] ${debianMirror(wanted)} ${wanted.suite} main\n`);
  const settings = [
    `Dir::Etc::sourcelist=${sources}`,
    'Dir::Etc::sourceparts=-',
    `Dir::State::lists=${path.join(scratch, 'lists')}`,
    `Dir::Cache=${scratch}`,
    'APT::Sandbox::User=root',
  ];
  return settings.flatMap((setting) => ['-o', setting]);
}

function debianMirror(wanted: WantedFile): string {
  const folder = '/etc/apt/sources.list.d';
  const more = readOptional(() => readdirSync(folder), []).map((file) => path.join(folder, file));
  for (const file of ['/etc/apt/sources.list', ...more]) {
    const mirror = /https?:\/\/\S+\/debian\/?(?=\s)/.exec(readOptional(() => readFileSync(file, 'utf8'), ''));
    if (mirror !== null) return mirror[0];
  }
  throw new Error(`this machine has no Debian mirror. ${wanted.byHand}`);
}

function readOptional<T>(read: () => T, absent: T): T {
  try {
    return read();
  } catch {
    return absent;
  }
}

function run(program: string, args: readonly string[], cwd: string, wanted: WantedFile): void {
  const result = spawnSync(program, args, { cwd, encoding: 'utf8' });
  if (result.error === undefined && result.status === 0) return;
  throw new Error(`${program} failed: ${result.error?.message ?? result.stderr}. ${wanted.byHand}`);
}
