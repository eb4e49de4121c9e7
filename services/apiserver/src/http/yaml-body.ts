import type { Json } from '@holdfast/machinery';
import { Document, visit } from 'yaml';
import { printYaml } from './yaml-print.ts';

export { readYaml } from './yaml-read.ts';

/**
 * Formats YAML as Go does: sorted keys, lists at the indentation of their key, and quotes where another type could be
 * read.
 */
export const stringifyYaml = (value: unknown): string =>
  printYaml(value as Json, { print: printCarefully, needsQuotes: (text) => IS_OTHER_TYPE.test(text) });

/** The same for any text, at many times the cost. */
export function printCarefully(value: unknown): string {
  const document = new Document(value, { version: '1.1', aliasDuplicateObjects: false, sortMapEntries: true });
  visit(document, {
    Scalar: (_key, node) => {
      if (typeof node.value === 'string' && IS_OTHER_TYPE.test(node.value)) node.type = 'QUOTE_DOUBLE';
    },
  });
  return document.toString({ indentSeq: false, singleQuote: true });
}

/** Nothing, switches, numbers of any base, and times. */
const IS_OTHER_TYPE =
  /^(?:|~|null|y|n|yes|no|on|off|true|false|<<|[-+]?(?:\d[\d_]*(?::[0-5]?\d)*(?:\.\d*)?(?:e[-+]?\d+)?|\.\d+(?:e[-+]?\d+)?|0x[\da-f_]+|0b[01_]+|0o[0-7_]+|\.inf)|\.nan|\d{4}-\d\d?-\d\d?(?:[Tt ].*)?)$/i;
