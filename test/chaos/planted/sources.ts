import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { editsOf, PLANTED_BUGS, type PlantedEdit, plantInto } from '../../sim/hunt/planted.mjs';

const root = path.resolve(import.meta.dirname, '../../..');
const NODES = ['node-1', 'node-2', 'node-3'];
const API_SERVERS = ['apiserver-1', 'apiserver-2'];
const MANAGERS = ['controller-manager'];
/** Which containers run the code of a folder. A bug in another folder cannot be planted into the compose form. */
const CONTAINERS: readonly (readonly [folder: string, containers: readonly string[]])[] = [
  ['services/kubelet/', NODES],
  ['services/apiserver/', API_SERVERS],
  ['libs/store/', API_SERVERS],
  ['services/controller-manager/', MANAGERS],
  ['services/scheduler/', ['scheduler']],
  ['libs/client/', [...NODES, ...API_SERVERS, ...MANAGERS, 'scheduler']],
];

/** A bug of the simulator's table with this name; throws a sentence where it is unknown or meets no container. */
export function editsNamed(name: string): readonly PlantedEdit[] {
  const bug = PLANTED_BUGS.find((each) => each.name === name);
  if (bug === undefined)
    throw new Error(`there is no planted bug "${name}"; docs/internals/planted-bugs.md lists them`);
  const edits = editsOf(bug);
  const far = edits.find(({ file }) => containersOf(file).length === 0);
  if (far !== undefined) throw new Error(`"${name}" changes ${far.file}, which no container of the compose form runs`);
  return edits;
}

export const containersOf = (file: string): readonly string[] =>
  CONTAINERS.find(([folder]) => file.startsWith(folder))?.[1] ?? [];

/**
 * Writes the changed sources, and a compose file that lays them over those of the image. Returns its path. The image and
 * the sources stay as they are, so that no release can contain a bug.
 */
export function writePlantedBugs(names: readonly string[], folder: string): string {
  mkdirSync(folder, { recursive: true });
  const sources = new Map<string, string>();
  for (const edit of names.flatMap(editsNamed)) {
    const source = sources.get(edit.file) ?? readFileSync(path.join(root, edit.file), 'utf8');
    sources.set(edit.file, plantInto(edit, source));
  }
  const mounts = [...sources].map(([file, source], index) => {
    const changed = path.join(folder, `${index}-${path.basename(file)}`);
    writeFileSync(changed, source, { mode: 0o644 });
    return { containers: containersOf(file), mount: `${changed}:/opt/holdfast/${file}:ro` };
  });
  const everybody = [...new Set(mounts.flatMap(({ containers }) => containers))];
  const volumesOf = (container: string): readonly string[] =>
    mounts.filter(({ containers }) => containers.includes(container)).map(({ mount }) => mount);
  const services = Object.fromEntries(everybody.map((name) => [name, { volumes: volumesOf(name) }]));
  const composeFile = path.join(folder, 'planted.json');
  writeFileSync(composeFile, JSON.stringify({ services }));
  return composeFile;
}
