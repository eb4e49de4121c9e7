import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { RuntimeError, type SandboxConfig, type SandboxIdentity } from '../port.ts';

/** What the kubelet keeps on disk for a pod beside its containers. Ends with the pod's last sandbox. */
export interface PodFiles {
  readonly volumesPath: (podUid: string) => string;
  readonly logDirectory: (pod: SandboxIdentity) => string;
  readonly logPath: (container: string, restartCount: number) => string;
  prepare(pod: SandboxIdentity): void;
  prepareContainer(pod: SandboxIdentity, container: string): void;
  /** The pod's own `/etc/hosts`; `undefined` where it has that of the machine. Written once: the pod may change it. */
  hostsFile(config: SandboxConfig, ips: readonly string[]): string | undefined;
  remove(pod: SandboxIdentity): void;
}

const PRIVATE = { recursive: true, mode: 0o700 } as const;

export function createPodFiles(stateDirectory: string): PodFiles {
  const pods = join(stateDirectory, 'pods');
  const directory = (podUid: string): string => join(pods, podUid);
  const logDirectory = ({ podNamespace, podName, podUid }: SandboxIdentity): string =>
    join(stateDirectory, 'logs', `${podNamespace}_${podName}_${podUid}`);
  mkdirSync(pods, PRIVATE);
  return {
    volumesPath: (podUid) => join(directory(podUid), 'volumes'),
    logDirectory,
    logPath: (container, restartCount) => join(container, `${restartCount}.log`),
    prepare: (pod) => {
      mkdirSync(directory(pod.podUid), PRIVATE);
      mkdirSync(logDirectory(pod), PRIVATE);
    },
    prepareContainer: (pod, container) => void mkdirSync(join(logDirectory(pod), container), PRIVATE),
    hostsFile: (config, ips) => writeHosts(join(directory(config.podUid), `hosts-${config.attempt}`), config, ips),
    remove: (pod) => {
      const [path, logs] = [directory(pod.podUid), logDirectory(pod)];
      refuseMounted(path);
      rmSync(path, { recursive: true, force: true });
      rmSync(logs, { recursive: true, force: true });
    },
  };
}

/** Removing through a mount would remove what is mounted. */
function refuseMounted(path: string): void {
  const mounted = readFileSync('/proc/self/mounts', 'utf8')
    .split('\n')
    .map((line) => line.split(' ')[1] ?? '')
    .find((target) => target.startsWith(`${path}/`));
  if (mounted === undefined) return;
  throw new RuntimeError('IllegalState', `${mounted} is still mounted: the files of the pod are kept until it is not`);
}

const MACHINE_ENTRIES = [
  '127.0.0.1\tlocalhost',
  '::1\tlocalhost ip6-localhost ip6-loopback',
  'fe00::0\tip6-localnet',
  'fe00::0\tip6-mcastprefix',
  'fe00::1\tip6-allnodes',
  'fe00::2\tip6-allrouters',
];

function writeHosts(file: string, config: SandboxConfig, ips: readonly string[]): string | undefined {
  const { isolation, hostname } = config;
  const aliases = (isolation?.hostAliases ?? []).map(({ ip, hostnames }) => `${ip}\t${hostnames.join('\t')}`);
  const sharesNetwork = isolation?.namespaces.network === 'node';
  if (isolation === undefined || (sharesNetwork && aliases.length === 0)) return undefined;
  const own = sharesNetwork ? readFileSync('/etc/hosts', 'utf8').trimEnd().split('\n') : MACHINE_ENTRIES;
  const names = sharesNetwork ? [] : ips.map((ip) => `${ip}\t${hostname}`);
  const extra = aliases.length === 0 ? [] : ['', '# Entries added by HostAliases.', ...aliases];
  const lines = ['# Kubernetes-managed hosts file.', ...own, ...names, ...extra];
  try {
    writeFileSync(file, `${lines.join('\n')}\n`, { flag: 'wx', mode: 0o644 });
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'EEXIST')) throw error;
  }
  return file;
}
