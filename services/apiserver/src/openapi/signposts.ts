import { servedKinds } from '../endpoints/served-kinds.ts';
import { groupVersion } from '../objects/object-keys.ts';
import { groupNames } from './operation-names.ts';
import { type ApiOperation, ENCODINGS, type TypeName } from './operation-shapes.ts';
import type { ApiPath } from './operations.ts';
import { API_GROUP, API_GROUP_LIST, API_RESOURCE_LIST, API_VERSIONS, VERSION_INFO } from './schema-names.ts';

type Sign = Pick<ApiOperation, 'id' | 'tag' | 'consumes' | 'produces'> & { readonly answer: TypeName };

const encoded = { consumes: ENCODINGS, produces: ENCODINGS };
const JSON_ONLY = ['application/json'];

/** Paths that say what else there is, by the name of their document. */
function signs(): ReadonlyMap<string, Sign> {
  const groups = [...new Set(servedKinds().map(({ group }) => group))].filter((group) => group !== '');
  return new Map<string, Sign>([
    [
      '.well-known/openid-configuration',
      {
        id: 'getServiceAccountIssuerOpenIDConfiguration',
        tag: 'WellKnown',
        consumes: [],
        produces: JSON_ONLY,
        answer: 'string',
      },
    ],
    ['api', { ...encoded, id: 'getCoreAPIVersions', tag: 'core', answer: API_VERSIONS }],
    ['apis', { ...encoded, id: 'getAPIVersions', tag: 'apis', answer: API_GROUP_LIST }],
    ...groups.map((group): [string, Sign] => {
      const { tag, part } = groupNames(group);
      return [`apis/${group}`, { ...encoded, id: `get${part}APIGroup`, tag, answer: API_GROUP }];
    }),
    [
      'openid/v1/jwks',
      {
        id: 'getServiceAccountIssuerOpenIDKeyset',
        tag: 'openid',
        consumes: [],
        produces: ['application/jwk-set+json'],
        answer: 'string',
      },
    ],
    [
      'version',
      { id: 'getCodeVersion', tag: 'version', consumes: JSON_ONLY, produces: JSON_ONLY, answer: VERSION_INFO },
    ],
  ]);
}

export const signpostNames = (): readonly string[] => [...signs().keys()];

/** All of them, or the one of that name. */
export const signposts = (wanted?: string): readonly ApiPath[] =>
  [...signs()].flatMap(([name, sign]) => (wanted === undefined || wanted === name ? [pathOf(`/${name}/`, sign)] : []));

/** The discovery path of a group version. */
export function versionSignpost(group: string, version: string): ApiPath {
  const { tag, part } = groupNames(group, version);
  const path = `/${group === '' ? 'api' : 'apis'}/${groupVersion({ group, version })}/`;
  return pathOf(path, { ...encoded, id: `get${part}APIResources`, tag, answer: API_RESOURCE_LIST });
}

const pathOf = (path: string, sign: Sign): ApiPath => ({
  path,
  parameters: [],
  operations: [{ ...sign, method: 'get', parameters: [], statuses: [200] }],
});
