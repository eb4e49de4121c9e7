import { readFileSync, statfsSync } from 'node:fs';
import { arch, availableParallelism, hostname, networkInterfaces, platform, release, totalmem } from 'node:os';
import type { NodeFacts } from '../domain/node-status.ts';
import { MAX_PODS_PER_NODE } from '../limits.ts';

/** This machine as a node. Several nodes on one machine each show all of it: nothing here divides it. */
export function readMachineFacts(options: {
  readonly name: string;
  readonly stateDirectory: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly maxPods?: number;
}): NodeFacts {
  const machineId = readText('/etc/machine-id');
  const capacity = {
    cpu: String(availableParallelism()),
    'ephemeral-storage': `${diskKibibytes(options.stateDirectory)}Ki`,
    memory: `${Math.floor(totalmem() / 1024)}Ki`,
    pods: String(options.maxPods ?? MAX_PODS_PER_NODE),
  };
  return {
    name: options.name,
    address: machineAddress(),
    hostname: hostname(),
    runtimeName: 'process',
    labels: options.labels ?? {},
    capacity,
    allocatable: capacity,
    nodeInfo: {
      architecture: ARCHITECTURES[arch()] ?? arch(),
      bootID: readText('/proc/sys/kernel/random/boot_id'),
      kernelVersion: release(),
      machineID: machineId,
      operatingSystem: platform(),
      osImage: /^PRETTY_NAME="?([^"\n]*)/m.exec(readText('/etc/os-release'))?.[1] ?? platform(),
      systemUUID: machineId,
    },
  };
}

const ARCHITECTURES: Readonly<Record<string, string>> = { x64: 'amd64', ia32: '386' };

/** The first address others can reach; a machine without network still runs pods for itself. */
function machineAddress(): string {
  const addresses = Object.values(networkInterfaces()).flatMap((each) => each ?? []);
  const outside = addresses.filter(({ internal }) => !internal);
  return (outside.find(({ family }) => family === 'IPv4') ?? outside[0])?.address ?? '127.0.0.1';
}

function diskKibibytes(directory: string): number {
  const { blocks, bsize } = statfsSync(directory);
  return Math.floor((blocks * bsize) / 1024);
}

/** '' where this system does not have it. */
function readText(path: string): string {
  try {
    return readFileSync(path, 'utf8').trim();
  } catch (error) {
    if (error instanceof Error && 'code' in error) return '';
    throw error;
  }
}
