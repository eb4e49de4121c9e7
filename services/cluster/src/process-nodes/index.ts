import { type Service, stopInReverse } from '@holdfast/platform';
import type { NodePlane } from '../control-plane.ts';
import type { Machine } from '../machines.ts';
import type { ClusterConfig } from '../options.ts';

export interface ProcessNodesDeps {
  readonly config: ClusterConfig;
  readonly machineOf: (name: string) => Machine;
  readonly plane: NodePlane;
  /** Where pods reach the API server. Absent: the cluster has no port. */
  readonly api: (() => { readonly host: string; readonly port: number }) | undefined;
}

/** Nodes whose pods are processes of this machine. Nothing of them is left after the stop, nor after the end of this process. */
export function createProcessNodes(deps: ProcessNodesDeps): Service {
  const running: Pick<Service, 'stop'>[] = [];
  const start = async (): Promise<void> => {
    // Most clusters have hollow nodes only, and never load what starts processes.
    const [{ openNodesFolder }, { ProcessNodes }] = await Promise.all([import('./folder.ts'), import('./nodes.ts')]);
    const folder = await openNodesFolder(deps.machineOf('process nodes').log);
    let isEmpty = false;
    running.push({ stop: () => folder.close({ isEmpty }) });
    const nodes = new ProcessNodes(deps, folder.path);
    const endNodes = async (): Promise<void> => {
      await nodes.stop();
      isEmpty = true;
    };
    running.push({ stop: endNodes });
    await nodes.start();
  };
  return {
    name: 'process nodes',
    start: async () => {
      if (deps.config.processNodes.length > 0) await start();
    },
    stop: () => stopInReverse(running.splice(0)),
  };
}
