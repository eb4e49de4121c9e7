import { deepEqual, type FieldError, forbidden, invalid, notSupported, required } from '@holdfast/machinery';
import { ageColumn, nameColumn, textColumn } from '../../columns/columns.ts';
import { setDefault, setDefaultOfZero } from '../../defaults/set.ts';
import { BOOTSTRAP_PRIORITY_LEVELS } from '../../flow-control/bootstrap-levels.ts';
import type {
  PriorityLevelConfiguration,
  PriorityLevelConfigurationSpec,
  QueuingConfiguration,
} from '../../generated/types.ts';
import { PRIORITY_LEVEL_CONFIGURATIONS } from '../../refs.ts';
import { validateTypedConditions } from '../../validation/conditions.ts';
import { dnsSubdomainErrors } from '../../validation/formats.ts';
import { goValue } from '../../validation/go/print.ts';
import { validateNonNegative } from '../../validation/numbers.ts';
import { checkedInSteps } from '../checked.ts';
import { defineResource } from '../define.ts';
import { keepStatus, specChanged, statusAlone } from '../strategy.ts';

const META = { namespaced: false, name: dnsSubdomainErrors } as const;
const NONE = '<none>';
const QUEUES_MAX = 10_000_000;
/** One hash shuffles all queues of a hand. */
const HASH_BITS_MAX = 60;

const queuing = ({ spec }: Readonly<PriorityLevelConfiguration>): Readonly<QueuingConfiguration> | undefined =>
  spec.limited?.limitResponse?.queuing;

export const priorityLevelConfigurationResource = defineResource(PRIORITY_LEVEL_CONFIGURATIONS, {
  setDefaults: setPriorityLevelDefaults,
  strategy: {
    prepareForCreate: (level) => {
      level.status = {};
    },
    prepareForUpdate: keepStatus,
    ...checkedInSteps<PriorityLevelConfiguration>(META, { whole: validateLevel, onUpdate: ['whole'] }),
    generationChanges: specChanged,
    allowUnconditionalUpdate: true,
  },
  status: statusAlone(({ status }) => {
    const out: FieldError[] = [];
    validateTypedConditions(out, 'status.conditions', status.conditions);
    return out;
  }),
  columns: [
    nameColumn,
    textColumn('Type', 'Whether requests are limited', ({ spec }) => spec.type),
    textColumn('NominalConcurrencyShares', 'The share of the server', ({ spec }) => {
      return spec.limited?.nominalConcurrencyShares ?? NONE;
    }),
    textColumn('Queues', 'How many queues there are', (level) => queuing(level)?.queues ?? NONE),
    textColumn('HandSize', 'How many queues a flow may use', (level) => queuing(level)?.handSize ?? NONE),
    textColumn(
      'QueueLengthLimit',
      'How many requests wait in a queue',
      (level) => queuing(level)?.queueLengthLimit ?? NONE,
    ),
    ageColumn,
  ],
});

function setPriorityLevelDefaults(level: PriorityLevelConfiguration): void {
  setDefault(level, 'spec', { type: '' });
  setDefault(level, 'status', {});
  const { exempt, limited } = level.spec;
  if (exempt !== undefined) {
    setDefault(exempt, 'nominalConcurrencyShares', 0);
    setDefault(exempt, 'lendablePercent', 0);
  }
  if (limited === undefined) return;
  setDefault(limited, 'nominalConcurrencyShares', 30);
  setDefault(limited, 'lendablePercent', 0);
  const queues = limited.limitResponse?.queuing;
  if (queues === undefined) return;
  setDefaultOfZero(queues, 'queues', 64);
  setDefaultOfZero(queues, 'handSize', 8);
  setDefaultOfZero(queues, 'queueLengthLimit', 50);
}

const EXEMPT = 'exempt';

function validateLevel(out: FieldError[], { metadata, spec, status }: Readonly<PriorityLevelConfiguration>): void {
  if ((metadata.name === EXEMPT) !== (spec.type === 'Exempt')) {
    out.push(invalid('spec.type', spec.type ?? '', "type must be 'Exempt' if and only if name is 'exempt'"));
  }
  validateSpec(out, spec);
  validateFixedSpec(out, spec, metadata.name ?? '');
  validateTypedConditions(out, 'status.conditions', status.conditions);
}

const FIXED_SPECS: ReadonlyMap<string, PriorityLevelConfigurationSpec> = new Map(
  BOOTSTRAP_PRIORITY_LEVELS.filter(({ isMandatory }) => isMandatory).map(({ name, spec }) => [name, spec]),
);

/** For the exempt level users may change only what it lends to others. */
function validateFixedSpec(out: FieldError[], spec: Readonly<PriorityLevelConfigurationSpec>, name: string): void {
  const fixed = FIXED_SPECS.get(name);
  if (fixed === undefined) return;
  const isExempt = name === EXEMPT;
  if (deepEqual(isExempt ? { ...spec, exempt: fixed.exempt } : spec, fixed)) return;
  const but = isExempt ? " except the 'spec.exempt' field" : '';
  const shown = goValue('flowcontrol.PriorityLevelConfigurationSpec', spec);
  out.push(invalid('spec', shown, `spec of '${name}'${but} must equal the fixed value`));
}

function validateSpec(out: FieldError[], spec: Readonly<PriorityLevelConfigurationSpec>): void {
  const { type, limited, exempt } = spec;
  if (type === 'Exempt') {
    if (limited !== undefined) out.push(forbidden('spec.limited', 'must be nil if the type is not Limited'));
    validateNonNegative(out, 'spec.exempt.nominalConcurrencyShares', exempt?.nominalConcurrencyShares);
    validatePercent(out, 'spec.exempt.lendablePercent', exempt?.lendablePercent);
    return;
  }
  if (type !== 'Limited') {
    out.push(notSupported('spec.type', type ?? '', ['Exempt', 'Limited']));
    return;
  }
  if (exempt !== undefined) out.push(forbidden('spec.exempt', 'must be nil if the type is Limited'));
  if (limited === undefined) {
    out.push(required('spec.limited', 'must not be empty when type is Limited'));
    return;
  }
  const path = 'spec.limited';
  const shares = limited.nominalConcurrencyShares ?? 0;
  if (shares < 0) out.push(invalid(`${path}.nominalConcurrencyShares`, shares, 'must be a non-negative integer'));
  validateLimitResponse(out, `${path}.limitResponse`, limited.limitResponse ?? { type: '' });
  validatePercent(out, `${path}.lendablePercent`, limited.lendablePercent);
  if (limited.borrowingLimitPercent !== undefined && limited.borrowingLimitPercent < 0) {
    out.push(
      invalid(
        `${path}.borrowingLimitPercent`,
        limited.borrowingLimitPercent,
        'if specified, must be a non-negative integer',
      ),
    );
  }
}

function validatePercent(out: FieldError[], path: string, percent: number | undefined): void {
  if (percent === undefined || (percent >= 0 && percent <= 100)) return;
  out.push(invalid(path, percent, 'must be between 0 and 100, inclusive'));
}

function validateLimitResponse(
  out: FieldError[],
  path: string,
  { type, queuing: queues }: { readonly type: string; readonly queuing?: Readonly<QueuingConfiguration> },
): void {
  if (type === 'Reject') {
    if (queues !== undefined)
      out.push(forbidden(`${path}.queuing`, 'must be nil if limited.limitResponse.type is not Limited'));
  } else if (type !== 'Queue') out.push(notSupported(`${path}.type`, type ?? '', ['Queue', 'Reject']));
  else if (queues === undefined) {
    out.push(required(`${path}.queuing`, 'must not be empty if limited.limitResponse.type is Limited'));
  } else validateQueues(out, `${path}.queuing`, queues);
}

function validateQueues(out: FieldError[], path: string, config: Readonly<QueuingConfiguration>): void {
  const { queues = 0, handSize = 0, queueLengthLimit = 0 } = config;
  if (queueLengthLimit <= 0) out.push(invalid(`${path}.queueLengthLimit`, queueLengthLimit, 'must be positive'));
  if (queues <= 0) out.push(invalid(`${path}.queues`, queues, 'must be positive'));
  else if (queues > QUEUES_MAX) out.push(invalid(`${path}.queues`, queues, `must not be greater than ${QUEUES_MAX}`));
  if (handSize <= 0) out.push(invalid(`${path}.handSize`, handSize, 'must be positive'));
  else if (handSize > queues) {
    out.push(invalid(`${path}.handSize`, handSize, `should not be greater than queues (${queues})`));
  } else if (Math.ceil(Math.log2(queues) * handSize) > HASH_BITS_MAX) {
    const detail = `required entropy bits of deckSize ${queues} and handSize ${handSize} should not be greater than ${HASH_BITS_MAX}`;
    out.push(invalid(`${path}.handSize`, handSize, detail));
  }
}
