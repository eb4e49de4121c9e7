import path from 'node:path';
import { describeFlags, readArguments, type SettingSpecs, type Settings } from '@holdfast/platform/config';
import { ClusterHome } from '../../local/cluster-home.ts';
import type { Command, Terminal } from '../command.ts';
import type { Subject } from '../doctor/check.ts';
import type { Finding } from '../doctor/finding.ts';
import { CHECKS } from '../doctor/registry.ts';
import { knownCluster } from '../kubeconfig-choice.ts';
import { misuse } from '../misuse.ts';
import { type Paint, PLAIN } from '../terminal/paint.ts';

const SETTINGS = {
  port: { kind: 'integer', help: 'Port of the API; default: that of the cluster, or 6443', min: 0, max: 65_535 },
  host: { kind: 'string', help: 'Address to listen on', default: '127.0.0.1' },
  name: { kind: 'string', help: 'A cluster of `up`, instead of --data-dir' },
  'data-dir': { kind: 'string', help: 'Directory of data, certificates and kubeconfig; default: .holdfast' },
  kubeconfig: { kind: 'string', help: 'Kubeconfig of the cluster; default: that of the data directory' },
  json: { kind: 'boolean', help: 'One JSON document a line: check, verdict, message, nextStep' },
  help: { kind: 'boolean', short: 'h', help: 'Print this help' },
} as const satisfies SettingSpecs;

const ABOUT =
  'Checks what a cluster on this machine needs, and one that runs: data directory, port, disk, fsync, certificates,\n' +
  'clock, container runtimes, kernel and API. Says what to do about each finding. Exit code 1: there is a problem.';

/** Needs no cluster: a machine on which none starts is what it is for. */
export const DOCTOR: Command = {
  settings: SETTINGS,
  run: async (argv, terminal) => {
    const { settings, words } = readArguments(SETTINGS, argv);
    if (settings.help) {
      terminal.print(`holdfast doctor\n\n${ABOUT}\n\n${describeFlags(SETTINGS).trimEnd()}`);
      return 0;
    }
    if (words[0] !== undefined) throw misuse(`doctor does not know "${words[0]}"`, 'Use flags; --help lists them.');
    const findings = await examine({ ...placeOf(settings, terminal), host: settings.host, terminal });
    for (const finding of findings) {
      terminal.print(settings.json ? JSON.stringify(finding) : lineOf(finding, terminal.paint ?? PLAIN));
    }
    return findings.some(({ verdict }) => verdict === 'problem') ? 1 : 0;
  },
};

/** Where the cluster is: that of `up` with this name, or of a data directory. */
function placeOf(settings: Settings<typeof SETTINGS>, { env }: Terminal): Pick<Subject, Place> {
  const { name, kubeconfig, port } = settings;
  if (name === undefined) {
    const dataDir = path.resolve(settings['data-dir'] ?? OWN_FOLDER);
    const own = path.join(dataDir, 'kubeconfig');
    const isOwnKubeconfig = kubeconfig === undefined;
    return { dataDir, kubeconfig: kubeconfig ?? own, isOwnKubeconfig, port: port ?? USUAL_PORT };
  }
  const other = (['data-dir', 'kubeconfig'] as const).find((flag) => settings[flag] !== undefined);
  if (other !== undefined) throw misuse(`--${other} and --name both name a cluster`, 'Leave one of them out.');
  const home = new ClusterHome(name, env);
  const { url } = knownCluster(home);
  const { dataDirectory: dataDir, kubeconfig: own } = home;
  return { dataDir, kubeconfig: own, isOwnKubeconfig: true, port: port ?? portOf(url) };
}

type Place = 'dataDir' | 'kubeconfig' | 'isOwnKubeconfig' | 'port';

const OWN_FOLDER = '.holdfast';
const USUAL_PORT = 6_443;

/** A cluster that was never ready takes a free port. */
const portOf = (url: string | undefined): number => (url === undefined ? 0 : Number(new URL(url).port));

async function examine(subject: Subject): Promise<readonly Finding[]> {
  const findings = await Promise.all(
    CHECKS.map(async (check) => ({ check: check.name, ...(await check.look(subject)) })),
  );
  return withoutOwnPort(findings);
}

/** The port of a cluster that runs is in use by itself. */
function withoutOwnPort(findings: readonly Finding[]): readonly Finding[] {
  const runs = findings.some(({ check, message }) => check === 'data directory' && message.endsWith('that runs'));
  return runs ? findings.filter(({ check, verdict }) => check !== 'port' || verdict === 'ok') : findings;
}

const COLOURS = { ok: 'good', warning: 'caution', problem: 'bad' } as const satisfies Record<string, keyof Paint>;

function lineOf({ check, verdict, message, nextStep }: Finding, paint: Paint): string {
  const line = `${paint[COLOURS[verdict]](verdict.padEnd(8))} ${check}: ${message}`;
  return nextStep === undefined ? line : `${line}\n         ${nextStep}`;
}
