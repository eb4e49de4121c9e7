import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { plantInto } from '../../sim/hunt/planted.mjs';

const root = path.resolve(import.meta.dirname, '../../..');
const NODES = ['node-1', 'node-2', 'node-3'];

interface Edit {
  /** The services whose containers get the changed file. */
  readonly services: readonly string[];
  readonly file: string;
  readonly find: string;
  readonly replace: string;
}

/** Bugs that a run can plant into the containers. The image and the sources stay as they are. */
export const PLANTED = {
  'watchdog-asleep': {
    harm: 'supervisor and watchdog of a node do not end exclusive pods at the deadline',
    edits: [
      {
        services: NODES,
        file: 'services/kubelet/src/runtime/process/supervisor.ts',
        find: 'if (deadline === undefined || !isPast(deadline, now())) return;',
        replace: 'if (deadline === undefined || isPast(deadline, now()) || !isPast(deadline, now())) return;',
      },
      {
        services: NODES,
        file: 'services/kubelet/src/runtime/process/watchdog.ts',
        find: 'if (deadline === undefined || !isPast(deadline, deps.now())) return 0;',
        replace:
          'if (deadline === undefined || isPast(deadline, deps.now()) || !isPast(deadline, deps.now())) return 0;',
      },
    ],
  },
  'no-token-check': {
    harm: 'the storage server accepts the writers of earlier attachments',
    edits: [
      {
        services: ['storage'],
        file: 'services/storage-server/src/domain/judge-token.ts',
        find: "if (token < floor) return { kind: 'stale' };",
        replace: 'if (token < floor) token = floor;',
      },
    ],
  },
} as const satisfies Readonly<Record<string, { readonly harm: string; readonly edits: readonly Edit[] }>>;

export type PlantedName = keyof typeof PLANTED;

export const plantedSource = (edit: Edit): string => plantInto(edit, readFileSync(path.join(root, edit.file), 'utf8'));

/** Writes the changed files and a compose file that lays them over those of the image. Returns its path. */
export function writePlanted(names: readonly PlantedName[], folder: string): string {
  mkdirSync(folder, { recursive: true });
  const volumes = new Map<string, string[]>();
  for (const edit of names.flatMap((name): readonly Edit[] => PLANTED[name].edits)) {
    const changed = path.join(folder, path.basename(edit.file));
    writeFileSync(changed, plantedSource(edit), { mode: 0o644 });
    for (const service of edit.services)
      volumes.set(service, [...(volumes.get(service) ?? []), `${changed}:/opt/holdfast/${edit.file}:ro`]);
  }
  const file = path.join(folder, 'planted.json');
  const services = Object.fromEntries([...volumes].map(([service, mounts]) => [service, { volumes: mounts }]));
  writeFileSync(file, JSON.stringify({ services }));
  return file;
}
