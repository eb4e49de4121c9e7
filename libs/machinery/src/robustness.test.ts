import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { applyServerSide } from './apply.ts';
import { deepFreeze } from './deep.ts';
import { parseFieldSelector } from './field-selectors.ts';
import { isJsonObject, type Json, type JsonObject } from './json.ts';
import { parseJson } from './json-decode.ts';
import { applyJsonPatch, decodeJsonPatch } from './json-patch.ts';
import { findDuplicates, JsonSyntaxError } from './json-scan.ts';
import { trackUpdate } from './managed-fields/track.ts';
import { parseQuantity, QuantityError } from './quantity.ts';
import { DecodeError, decodeWithSchema } from './schema-decode.ts';
import { parseLabelSelector } from './selector-parse.ts';
import { SelectorError } from './selectors.ts';
import { StatusError } from './status.ts';
import { applyStrategicMergePatch } from './strategic-merge.ts';
import { pod } from './testing-schemas.ts';
import { rounded } from './testing-values.ts';

/** JSON that often uses names from the schema, often with values of the wrong type. */
const hostileJson: fc.Arbitrary<Json> = fc.letrec<{ value: Json; object: Json }>((tie) => ({
  value: fc.oneof(
    { depthSize: 'small' },
    fc.constantFrom<Json>(null, true, 0, -1, 1.5, '', 'a', 'delete', 'replace', [], {}),
    fc.array(tie('value'), { maxLength: 3 }),
    tie('object'),
  ),
  object: fc
    .array(
      fc.tuple(
        fc.constantFrom(
          'metadata',
          'labels',
          'finalizers',
          'ownerReferences',
          'managedFields',
          'spec',
          'containers',
          'name',
          'image',
          'env',
          'ports',
          'containerPort',
          'protocol',
          'resources',
          'limits',
          'nodeSelector',
          '$patch',
          '$retainKeys',
          '$setElementOrder/containers',
          '$deleteFromPrimitiveList/finalizers',
          'operation',
          'apiVersion',
          'fieldsType',
          'fieldsV1',
          'f:metadata',
          'k:{"name":"a"}',
          '__proto__',
          'constructor',
          'bogus',
        ),
        tie('value'),
      ),
      { maxLength: 5 },
    )
    .map((pairs): Json => JSON.parse(JSON.stringify(Object.fromEntries(pairs)))),
})).value;

const hostileObject = hostileJson
  .filter(isJsonObject)
  .map((object: JsonObject) => deepFreeze({ apiVersion: 'v1', kind: 'Pod', ...object }));

/** Runs, and accepts only errors that a client may see. */
function only(expected: new (...args: never[]) => Error, run: () => unknown): void {
  try {
    run();
  } catch (error) {
    if (!(error instanceof expected)) throw error;
  }
}

test('any input gives a document or an error', () => {
  fc.assert(
    fc.property(hostileObject, hostileObject, fc.boolean(), (live, sent, force) => {
      only(DecodeError, () => decodeWithSchema(sent, pod()));
      only(StatusError, () => applyStrategicMergePatch(live, sent, pod()));
      const writer = { schema: pod(), manager: 'm', apiVersion: 'v1', time: '2024-01-01T00:00:00Z' };
      only(StatusError, () => applyServerSide({ ...writer, live, config: { ...sent, apiVersion: 'v1' }, force }));
      JSON.stringify(trackUpdate({ ...writer, live, updated: sent }));
      JSON.stringify(trackUpdate({ ...writer, live: undefined, updated: sent }));
      assert.equal('polluted' in {}, false);
    }),
    { numRuns: 2_000 },
  );
});

test('any JSON patch gives a document or an error', () => {
  const path = fc
    .array(fc.constantFrom('spec', 'containers', '0', '-1', '-', '__proto__', '~1', ''), { maxLength: 4 })
    .map((parts) => parts.map((p) => `/${p}`).join(''));
  const operation = fc.record(
    {
      op: fc.constantFrom('add', 'remove', 'replace', 'move', 'copy', 'test', 'x'),
      path,
      from: path,
      value: hostileJson,
    },
    { requiredKeys: ['op', 'path'] },
  );
  fc.assert(
    fc.property(hostileObject, fc.array(fc.oneof(operation, hostileJson), { maxLength: 5 }), (live, operations) => {
      const body: Json = JSON.parse(JSON.stringify(operations));
      only(StatusError, () => applyJsonPatch(live, decodeJsonPatch(body).operations));
    }),
    { numRuns: 1_000 },
  );
});

test('decoding a decoded document again does not change it', () => {
  fc.assert(
    fc.property(hostileObject, (sent) => {
      only(DecodeError, () => {
        const { value } = decodeWithSchema(sent, pod());
        assert.deepEqual(decodeWithSchema(value, pod()), { value, unknownFields: [] });
      });
    }),
    { numRuns: 2_000 },
  );
});

test('the parser accepts exactly what JSON.parse accepts', () => {
  const mutated = fc
    .tuple(fc.json(), fc.nat(), fc.constantFrom('', '"', '\\', '{', '}', ',', ':', '1', 'e', '\n', ' '), fc.boolean())
    .map(([text, at, char, replace]) => {
      const position = at % (text.length + 1);
      return text.slice(0, position) + char + text.slice(position + (replace ? 1 : 0));
    });
  fc.assert(
    fc.property(fc.oneof(mutated, fc.string()), (text) => {
      let expected: Json | undefined;
      only(SyntaxError, () => {
        expected = JSON.parse(text);
      });
      if (expected === undefined) {
        assert.throws(
          () => parseJson(text),
          (error) => error instanceof JsonSyntaxError && error.message !== 'invalid JSON',
        );
      } else {
        assert.deepEqual(rounded(parseJson(text).value), expected);
        assert.deepEqual(parseJson(text).duplicates, findDuplicates(text));
      }
    }),
    { numRuns: 3_000 },
  );
});

test('any text is parsed as a selector or a quantity, or refused', () => {
  const text = fc.oneof(
    fc.string(),
    fc
      .array(fc.constantFrom('a', 'in', 'notin', '(', ')', ',', '=', '!', '>', '5', ' ', '\\'))
      .map((parts) => parts.join('')),
  );
  fc.assert(
    fc.property(text, (input) => {
      only(SelectorError, () => parseLabelSelector(input).matches({ a: '5' }));
      only(SelectorError, () => parseFieldSelector(input).matches(() => ''));
      only(QuantityError, () => parseQuantity(input));
    }),
    { numRuns: 3_000 },
  );
});
