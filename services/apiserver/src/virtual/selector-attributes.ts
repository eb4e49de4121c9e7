import type { ResourceAttributes } from '@holdfast/api';
import {
  compileFieldRequirements,
  compileLabelSelector,
  parseFieldSelector,
  parseLabelSelector,
  SelectorError,
} from '@holdfast/machinery';

export interface AskedSelectors {
  /** The readable part; absent when nothing was sent. */
  readonly fieldSelector?: string;
  /** The unreadable parts, in field order. */
  readonly problems: readonly string[];
}

/** Parses the selectors of a review. Unreadable ones do not restrict. */
export function readSelectors({ fieldSelector, labelSelector }: ResourceAttributes): AskedSelectors {
  const fields = fieldSelector === undefined ? undefined : readFields(fieldSelector);
  const labels = labelSelector === undefined ? undefined : readLabels(labelSelector);
  return {
    ...(fields === undefined ? {} : { fieldSelector: fields.text }),
    problems: [...problemOf('fieldSelector', fields), ...problemOf('labelSelector', labels)],
  };
}

interface Read {
  readonly text: string;
  /** The number of requirements, and of the understood ones. */
  readonly whole: number;
  readonly understood: number;
}

function problemOf(field: string, read: Read | undefined): readonly string[] {
  if (read === undefined || read.understood === read.whole) return [];
  const much = read.understood === 0 ? 'ignored' : 'partially ignored';
  return [`spec.resourceAttributes.${field} ${much} due to parse error`];
}

const NOTHING_UNDERSTOOD: Read = { text: '', whole: 1, understood: 0 };

type Fields = NonNullable<ResourceAttributes['fieldSelector']>;

/** A field is known to have one value, or not to have one. */
function readFields({ rawSelector = '', requirements = [] }: Fields): Read {
  if (rawSelector !== '') return readText(rawSelector, parseFieldSelector);
  const understood = requirements.flatMap(({ key, operator, values = [] }) => {
    const [value, second] = values;
    if (value === undefined || second !== undefined || (operator !== 'In' && operator !== 'NotIn')) return [];
    return [{ field: key, operator: operator === 'In' ? ('=' as const) : ('!=' as const), value }];
  });
  const { text } = compileFieldRequirements(understood);
  return { text, whole: requirements.length, understood: understood.length };
}

type Labels = NonNullable<ResourceAttributes['labelSelector']>;

function readLabels({ rawSelector = '', requirements = [] }: Labels): Read {
  if (rawSelector !== '') return readText(rawSelector, parseLabelSelector);
  const understood = requirements.filter((each) =>
    isReadable(() => compileLabelSelector({ matchExpressions: [each] })),
  );
  return { text: '', whole: requirements.length, understood: understood.length };
}

const readText = (text: string, parse: (text: string) => unknown): Read =>
  isReadable(() => parse(text)) ? { text, whole: 1, understood: 1 } : NOTHING_UNDERSTOOD;

function isReadable(read: () => unknown): boolean {
  try {
    read();
    return true;
  } catch (error) {
    if (error instanceof SelectorError) return false;
    throw error;
  }
}
