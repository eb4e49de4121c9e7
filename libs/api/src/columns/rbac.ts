import type { RoleRef, Subject } from '../generated/types.ts';
import type { Column, KubeObject } from '../resource.ts';
import { ageColumn, nameColumn, textColumn, wide } from './columns.ts';

type Binding = KubeObject & { readonly roleRef: RoleRef; readonly subjects?: readonly Subject[] };

export const bindingColumns: readonly Column<Binding>[] = [
  nameColumn,
  textColumn('Role', 'The role that is granted', ({ roleRef }) => `${roleRef.kind}/${roleRef.name}`),
  ageColumn,
  wide(textColumn('Users', 'The users that it is granted to', (binding) => subjectsText(binding, 'User'))),
  wide(textColumn('Groups', 'The groups that it is granted to', (binding) => subjectsText(binding, 'Group'))),
  wide(
    textColumn('ServiceAccounts', 'The service accounts that it is granted to', (binding) => {
      return subjectsText(binding, 'ServiceAccount');
    }),
  ),
];

const subjectsText = ({ subjects = [] }: Readonly<Binding>, kind: string): string =>
  subjects
    .filter((subject) => subject.kind === kind)
    .map(({ name, namespace = '' }) => (kind === 'ServiceAccount' ? `${namespace}/${name}` : name))
    .join(', ');
