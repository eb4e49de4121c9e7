import { parseKey, type StoreKey } from '@holdfast/store';
import type { User } from '../authentication/identity.ts';
import { isAllowed } from '../authorization/chain.ts';
import type { Core } from '../core.ts';
import type { ResourceRequest } from '../http/request-info.ts';

/** What the caller may list now. Each question is asked once. */
export interface Rights {
  mayList(key: StoreKey): boolean | Promise<boolean>;
  /** False when no object of the resource can be listed. */
  mayListSome(prefix: string): boolean | Promise<boolean>;
}

export function createRights(core: Core, user: User): Rights {
  const answers = new Map<string, boolean>();
  const ask = async (group: string, resource: string, namespace: string): Promise<boolean> => {
    const question = `${group}/${resource}/${namespace}`;
    const known = answers.get(question);
    if (known !== undefined) return known;
    const version = core.kinds.anyVersion(group, resource)?.version ?? '';
    const about = { group, version, resource, namespace };
    const info: ResourceRequest = {
      kind: 'resource',
      verb: 'list',
      path: '',
      ...about,
      name: '',
      subresource: '',
      rest: '',
    };
    const allowed = (await isAllowed(core.access.authorizers, user, info)) !== undefined;
    answers.set(question, allowed);
    return allowed;
  };
  return {
    mayList: async (key) => {
      const { group, resource, namespace } = parseKey(key);
      return (await ask(group, resource, '')) || (namespace !== '' && ask(group, resource, namespace));
    },
    mayListSome: (prefix) => {
      const { group, resource } = parseKey(prefix);
      const isNamespaced = core.kinds.anyVersion(group, resource)?.namespaced ?? true;
      return isNamespaced || ask(group, resource, '');
    },
  };
}
