import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { type PlantedEdit, plantInto } from '../../sim/hunt/planted.mjs';
import { apiServersOf, type FormName, mastersOf, nodesOf } from '../support/compose-form.ts';
import { editsInContainers } from './container-bugs.ts';

const root = path.resolve(import.meta.dirname, '../../..');
const named =
  (prefix: string) =>
  (form: FormName): readonly string[] =>
    mastersOf(form).filter((service) => service.startsWith(prefix));
/** Which containers run the code of a folder. A bug in another folder cannot be planted into the compose form. */
const CONTAINERS: readonly (readonly [folder: string, containers: (form: FormName) => readonly string[]])[] = [
  ['services/kubelet/', nodesOf],
  ['services/apiserver/', apiServersOf],
  ['libs/store/', apiServersOf],
  ['services/controller-manager/', named('controller-manager')],
  ['services/scheduler/', named('scheduler')],
  ['libs/client/', (form) => [...nodesOf(form), ...mastersOf(form)]],
];

/** A planted bug with this name; throws a sentence where it is unknown or meets no container. */
export function editsNamed(name: string, form: FormName = 'S'): readonly PlantedEdit[] {
  const edits = editsInContainers(name, form);
  if (edits === undefined)
    throw new Error(`there is no planted bug "${name}"; docs/internals/planted-bugs.md lists them`);
  const far = edits.find(({ file }) => containersOf(file, form).length === 0);
  if (far !== undefined) throw new Error(`"${name}" changes ${far.file}, which no container of the compose form runs`);
  return edits;
}

const containersOf = (file: string, form: FormName): readonly string[] =>
  CONTAINERS.find(([folder]) => file.startsWith(folder))?.[1](form) ?? [];

/**
 * The sources that bugs change, laid over those of the image by a compose file. They are as they should be until a bug
 * is planted. The image and the sources of the repository stay as they are, so that no release can contain a bug.
 */
export class PlantedSources {
  readonly composeFile: string;
  /** Where the copy of each source is. */
  readonly #copies = new Map<string, string>();
  /** As in the image, also when the sources of the repository change meanwhile. */
  readonly #originals = new Map<string, string>();
  readonly #current = new Map<string, string>();

  readonly #form: FormName;

  constructor(bugs: readonly string[], folder: string, form: FormName = 'S') {
    this.#form = form;
    mkdirSync(folder, { recursive: true });
    const files = [...new Set(bugs.flatMap((name) => editsNamed(name, form)).map(({ file }) => file))];
    const services: Record<string, { readonly volumes: string[] }> = {};
    for (const [index, file] of files.entries()) {
      const copy = path.join(folder, `${index}-${path.basename(file)}`);
      this.#copies.set(file, copy);
      this.#originals.set(file, readFileSync(path.join(root, file), 'utf8'));
      for (const container of containersOf(file, form))
        (services[container] ??= { volumes: [] }).volumes.push(`${copy}:/opt/holdfast/${file}:ro`);
    }
    this.composeFile = path.join(folder, 'planted.json');
    writeFileSync(this.composeFile, JSON.stringify({ services }));
    this.plant([]);
  }

  /** Exactly these bugs from now on. Returns the containers that have to start again for it. */
  plant(bugs: readonly string[]): readonly string[] {
    const edits = bugs.flatMap((name) => editsNamed(name, this.#form));
    const changed = [...this.#copies].flatMap(([file, copy]) => {
      const own = edits.filter((edit) => edit.file === file);
      const source = own.reduce((text, edit) => plantInto(edit, text), this.#originals.get(file) ?? '');
      if (this.#current.get(file) === source) return [];
      // In place: a container sees the file that it was started with.
      writeFileSync(copy, source, { mode: 0o644 });
      this.#current.set(file, source);
      return containersOf(file, this.#form);
    });
    return [...new Set(changed)].toSorted();
  }
}
