import {
  type Asked,
  createReader,
  documentOf,
  type Explained,
  explain,
  type PlacementReport,
  paragraphOf,
} from '@holdfast/client/why';
import { OperatorError } from '@holdfast/platform';
import { defineCommand } from '../command.ts';
import { misuse } from '../misuse.ts';
import { askPlacement, placementLines } from '../placement.ts';
import { type Named, resolveWords } from '../resources.ts';
import type { Session } from '../session.ts';

export const WHY = defineCommand({
  usage: 'why <resource>/<name>...',
  about:
    'Says in one paragraph what an object waits for and what would end the wait: pods, claims, nodes, namespaces,\n' +
    'Deployments, StatefulSets, DaemonSets, Jobs and disruption budgets; of other kinds, the finalizers that hold them.',
  settings: {
    json: { kind: 'boolean', help: 'One JSON document a line: subject, waitsFor, endsWhen, since' },
    nodes: { kind: 'boolean', help: 'For pods without a node: what the scheduler found on each node' },
  },
  act: async ({ settings, words }, session, { print, tell, clock }) => {
    const { named } = await resolveWords(words, session);
    if (named.length === 0) throw misuse('no object was named', 'Name at least one: `why pod/web`.');
    for (const each of named) {
      const now = clock.now();
      const explained = await explainNamed(each, session, now);
      const placement = settings.nodes ? await placementOf(each, session) : undefined;
      const report = typeof placement === 'string' ? undefined : placement;
      if (settings.json) print(JSON.stringify({ ...documentOf(explained), ...(report && { placement: report }) }));
      else {
        print(paragraphOf(explained, now));
        for (const line of report === undefined ? [] : placementLines(report)) print(line);
      }
      if (typeof placement === 'string') tell(`  ${placement}`);
    }
  },
});

async function placementOf({ resource, name }: Named, session: Session): Promise<PlacementReport | string | undefined> {
  if (resource.plural !== 'pods' || resource.group !== '') return undefined;
  return askPlacement((path) => session.ask(path), { namespace: session.namespace, name });
}

async function explainNamed({ resource, name }: Named, session: Session, now: number): Promise<Explained> {
  const target = resource.namespaced ? { namespace: session.namespace, name } : { name };
  const reader = createReader(session.client);
  const asked: Asked = { resource, target };
  const finding = await explain(asked, reader, now);
  const subject = `${resource.kind.toLowerCase()} ${resource.namespaced ? `${session.namespace}/` : ''}${name}`;
  if (typeof finding !== 'string') return { subject, finding, unread: [...reader.unread] };
  throw finding === 'absent' ? absent(subject, asked) : unread(subject);
}

const absent = (subject: string, { resource }: Asked): OperatorError =>
  new OperatorError({
    code: 'NotFound',
    message: `there is no ${subject}, and nothing is going to make it`,
    nextStep: `Look at \`get ${resource.plural}\`${resource.namespaced ? ', and name another namespace with -n' : ''}.`,
  });

const unread = (subject: string): OperatorError =>
  new OperatorError({
    code: 'Forbidden',
    message: `you may not read ${subject}`,
    nextStep: 'Ask an administrator for the right to get it.',
  });
