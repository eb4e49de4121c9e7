import { collectionPath, objectPath } from '@holdfast/client';
import { defineCommand } from '../command.ts';
import { misuse } from '../misuse.ts';
import { type Resolved, resolveWords } from '../resources.ts';
import { formatTable } from '../table.ts';
import { PLAIN, paintHead } from '../terminal/paint.ts';

const TABLE = 'application/json;as=Table;v=v1;g=meta.k8s.io';
const OUTPUTS = ['table', 'wide', 'json'];

export const GET = defineCommand({
  usage: 'get <resource> [<name>...]',
  about: 'Shows objects in the columns of the API server.',
  settings: {
    'all-namespaces': { kind: 'boolean', short: 'A', help: 'Objects of all namespaces' },
    selector: { kind: 'string', short: 'l', help: 'Only objects with these labels' },
    json: { kind: 'boolean', help: 'One JSON document a line' },
    output: { kind: 'string', short: 'o', help: `One of ${OUTPUTS.join(', ')}`, default: 'table' },
  },
  act: async ({ settings, words }, session, { print, tell, paint = PLAIN }) => {
    const output = settings.json ? 'json' : settings.output;
    if (!OUTPUTS.includes(output)) throw misuse(`--output takes ${OUTPUTS.join(', ')}, not "${output}"`, 'See --help.');
    const namespaces = settings['all-namespaces'];
    const query = new URLSearchParams(settings.selector === undefined ? {} : { labelSelector: settings.selector });
    for (const path of pathsOf(await resolveWords(words, session), namespaces ? undefined : session.namespace)) {
      const answer = await session.read(path, output === 'json' ? 'application/json' : TABLE, query);
      const lines =
        output === 'json'
          ? [JSON.stringify(answer, undefined, settings.json ? undefined : 2)]
          : formatTable(answer, { wide: output === 'wide', namespaces, paint: paintHead(paint) });
      if (lines.length === 0) tell('No resources found.');
      for (const line of lines) print(line);
    }
  },
});

function pathsOf({ resource, named }: Resolved, namespace: string | undefined): readonly string[] {
  if (named.length === 0) return [collectionPath(resource, namespace)];
  if (namespace === undefined) throw misuse('an object is named and --all-namespaces too', 'Leave one of them out.');
  return named.map((each) =>
    objectPath(each.resource, each.resource.namespaced ? { namespace, name: each.name } : { name: each.name }),
  );
}
