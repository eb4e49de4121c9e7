import { editsOf, PLANTED_BUGS, type PlantedBug, type PlantedEdit } from '../../sim/hunt/planted.mjs';
import type { FormName } from '../support/compose-form.ts';

const REDIS_SCRIPTS = 'libs/store/src/redis/scripts.ts';

/** Bugs of what only the containers have. */
const OF_CONTAINERS: readonly PlantedBug[] = [
  {
    name: 'store-without-write-ids',
    harm: 'a write whose answer is lost is done again, and its second answer is taken for the first',
    file: REDIS_SCRIPTS,
    find: '  if done then\n',
    replace: "  if done and id == '' then\n",
  },
  {
    name: 'log-reads-own-copy',
    harm: 'an API server of three zones answers from its copy of the log without asking whether there is more',
    file: 'libs/store/src/log/log-store.ts',
    find: '    await this.#replica.barrier();\n    this.#assertServing();\n    return this.#replica.table;',
    replace: '    return this.#replica.table;',
  },
];

/** Bugs of the simulator's table in the store of the compose form: the simulator has another one. */
const IN_REDIS: Readonly<Record<string, readonly PlantedEdit[]>> = {
  'create-overwrites': [
    { file: REDIS_SCRIPTS, find: '      if current then return', replace: "      if current == '' then return" },
  ],
  'update-without-compare': [withoutCompare('u')],
  'delete-without-compare': [withoutCompare('d')],
};

function withoutCompare(kind: 'u' | 'd'): PlantedEdit {
  const compare = "    elseif expected ~= '' and current ~= expected then";
  return { file: REDIS_SCRIPTS, find: compare, replace: compare.replace(' then', ` and op ~= '${kind}' then`) };
}

const bugNamed = (name: string): PlantedBug | undefined =>
  [...OF_CONTAINERS, ...PLANTED_BUGS].find((each) => each.name === name);

/** In the words of an operator; empty for a bug that is unknown. */
export const harmOf = (name: string): string => bugNamed(name)?.harm ?? '';

/** `undefined`: there is no such bug. */
export function editsInContainers(name: string, form: FormName): readonly PlantedEdit[] | undefined {
  const bug = bugNamed(name);
  if (bug === undefined) return undefined;
  return (form === 'S' ? IN_REDIS[name] : undefined) ?? editsOf(bug);
}
