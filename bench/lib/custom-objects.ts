/** The custom resources of the benches: ten fields in the spec, five rules. */
export const DEFINITIONS_PATH = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';
export const REEF_NAMESPACE_PATH = '/apis/reef.example.com/v1/namespaces';

const RULES = [
  { rule: 'self.minDepth <= self.maxDepth', message: 'minDepth may not be above maxDepth' },
  { rule: 'self.depth >= self.minDepth && self.depth <= self.maxDepth', message: 'depth is out of bounds' },
  { rule: "self.colours.all(c, c.matches('^[a-z]+$'))", message: 'colours are lower-case words' },
  { rule: "!self.protected || self.owner != ''", message: 'who is protected has an owner' },
  { rule: 'self.owner == oldSelf.owner', message: 'the owner stays' },
];

const SPEC = {
  type: 'object',
  required: ['depth', 'minDepth', 'maxDepth', 'owner'],
  'x-kubernetes-validations': RULES,
  properties: {
    depth: { type: 'integer', minimum: 0 },
    minDepth: { type: 'integer' },
    maxDepth: { type: 'integer' },
    owner: { type: 'string', maxLength: 100 },
    protected: { type: 'boolean', default: false },
    colours: { type: 'array', maxItems: 8, items: { type: 'string', maxLength: 20 } },
    species: { type: 'string', enum: ['brain', 'fire', 'staghorn'], default: 'brain' },
    tags: { type: 'object', maxProperties: 16, additionalProperties: { type: 'string', maxLength: 40 } },
    position: {
      type: 'object',
      properties: { latitude: { type: 'number' }, longitude: { type: 'number' } },
    },
    notes: { type: 'string', maxLength: 400, pattern: '^[a-z ]*$' },
  },
};

/** `selectable` for a kind whose objects can be selected by their species. */
export const coralDefinition = (plural = 'corals', group = 'reef.example.com', selectable = false): unknown => ({
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: `${plural}.${group}` },
  spec: {
    group,
    scope: 'Namespaced',
    names: { plural, kind: `${plural.charAt(0).toUpperCase()}${plural.slice(1, -1)}` },
    versions: [
      {
        name: 'v1',
        served: true,
        storage: true,
        schema: {
          openAPIV3Schema: {
            type: 'object',
            properties: { spec: SPEC, status: { type: 'object', properties: { phase: { type: 'string' } } } },
          },
        },
        subresources: { status: {} },
        ...(selectable ? { selectableFields: [{ jsonPath: '.spec.species' }] } : {}),
      },
    ],
  },
});

/** About as long as a ConfigMap of the benches. */
export const coral = (index: number): unknown => ({
  apiVersion: 'reef.example.com/v1',
  kind: 'Coral',
  metadata: { name: `coral-${index}`, labels: { group: `g${index % 50}` } },
  spec: {
    depth: 10 + (index % 10),
    minDepth: 1,
    maxDepth: 40,
    owner: 'keeper',
    protected: true,
    colours: ['red', 'blue', 'green'],
    species: index % 10 === 0 ? 'fire' : 'staghorn',
    tags: { ocean: 'pacific', survey: `s${index % 7}` },
    position: { latitude: 12.5, longitude: -71.25 },
    notes: 'x'.repeat(100),
  },
});

export const deepened = (index: number): unknown => ({ spec: { depth: 20 + (index % 10) } });
