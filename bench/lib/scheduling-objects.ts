import { buildNode, buildPod, type PodShape } from '../../services/scheduler/src/testing/builders.ts';

/** Nodes are spread over so many zones. */
const ZONES = 3;
const ZONE_LABEL = 'topology.kubernetes.io/zone';
const HOSTNAME_LABEL = 'kubernetes.io/hostname';
/** Pods that keep away from each other belong to groups of so many. */
const ANTI_GROUP = 100;

/** The pods' constraints in a row. */
export const SHAPES = ['plain', 'spread', 'spread-anti'] as const;
export type Shape = (typeof SHAPES)[number];

export function schedulingNode(index: number): ReturnType<typeof buildNode> {
  return buildNode(`node-${index}`, {
    cpu: '4',
    memory: '32Gi',
    labels: { [ZONE_LABEL]: `zone-${index % ZONES}` },
  });
}

export function schedulingPod(
  shape: Shape | 'filler' | 'important',
  index: number,
  nodeName?: string,
): ReturnType<typeof buildPod> {
  const group = shape === 'spread-anti' ? `g${Math.floor(index / ANTI_GROUP)}` : shape;
  return buildPod(`${shape}-${index}`, {
    ...SIZES[shape],
    labels: { app: group },
    ...(nodeName === undefined ? {} : { nodeName }),
    spec: SPECS[shape](group),
  });
}

const SMALL = { cpu: '100m', memory: '500Mi' };
const SIZES = {
  plain: SMALL,
  spread: SMALL,
  'spread-anti': SMALL,
  filler: { cpu: '900m', memory: '500Mi' },
  important: { cpu: '3', memory: '500Mi' },
} as const satisfies Record<Shape | 'filler' | 'important', unknown>;

const SPECS: Readonly<Record<keyof typeof SIZES, (group: string) => NonNullable<PodShape['spec']>>> = {
  plain: () => ({}),
  spread: (group) => ({ topologySpreadConstraints: [zoneSpread(group)] }),
  'spread-anti': (group) => ({
    topologySpreadConstraints: [zoneSpread(group)],
    affinity: { podAntiAffinity: { requiredDuringSchedulingIgnoredDuringExecution: [apart(group)] } },
  }),
  filler: () => ({}),
  important: () => ({ priority: 1000 }),
};

function zoneSpread(app: string) {
  return {
    maxSkew: 5,
    topologyKey: ZONE_LABEL,
    whenUnsatisfiable: 'DoNotSchedule',
    labelSelector: { matchLabels: { app } },
  } as const;
}

const apart = (app: string) => ({ topologyKey: HOSTNAME_LABEL, labelSelector: { matchLabels: { app } } });
