import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { parseJson } from './json-decode.ts';
import { findDuplicates, findOddNumbers, findStrictProblems, JsonSyntaxError } from './json-scan.ts';
import { DecodeError, decodeTextWithSchema, decodeWithSchema } from './schema-decode.ts';
import { configMap, deployment, pod } from './testing-schemas.ts';
import { rounded } from './testing-values.ts';

test('invalid JSON is refused with the messages of Go', () => {
  const cases: Readonly<Record<string, string>> = {
    '': 'unexpected end of JSON input',
    '{"a":': 'unexpected end of JSON input',
    '{"a"': 'unexpected end of JSON input',
    '"abc': 'unexpected end of JSON input',
    '{a:1}': "invalid character 'a' looking for beginning of object key string",
    '\ufeff{}': "invalid character '\u00ef' looking for beginning of value",
    '{"a":\u00e9}': "invalid character '\u00c3' looking for beginning of value",
    '{"a":"\u0001"}': "invalid character '\\x01' in string literal",
    '{"a":"\n"}': "invalid character '\\n' in string literal",
    '[1 \\]': "invalid character '\\\\' after array element",
    '{"a":1,}': "invalid character '}' looking for beginning of object key string",
    '{"a" 1}': "invalid character '1' after object key",
    '{"a":1 "b"}': `invalid character '"' after object key:value pair`,
    '[1 2]': "invalid character '2' after array element",
    '[1,]': "invalid character ']' looking for beginning of value",
    '1 2': "invalid character '2' after top-level value",
    trup: "invalid character 'p' in literal true (expecting 'e')",
    '-x': "invalid character 'x' in numeric literal",
    '1.x': "invalid character 'x' after decimal point in numeric literal",
    '1ex': "invalid character 'x' in exponent of numeric literal",
    '"\\x"': "invalid character 'x' in string escape code",
    '"\\u12x"': "invalid character 'x' in \\u hexadecimal character escape",
    '"\n"': "invalid character '\\n' in string literal",
    "'": "invalid character '\\'' looking for beginning of value",
  };
  for (const [text, message] of Object.entries(cases)) {
    assert.throws(
      () => parseJson(text),
      (error) => error instanceof JsonSyntaxError && error.message === message,
      text,
    );
  }
});

test('duplicate keys are reported, each path once', () => {
  const text = '{"data":{"a":"1","a":"2","a":"3"},"list":[{},{"x":1,"x":{"y":1,"\\u0079":2}}],"note":"\\":"}';
  const parsed = parseJson(text);
  assert.deepEqual(parsed.duplicates, [
    'duplicate field "data.a"',
    'duplicate field "list[1].x"',
    'duplicate field "list[1].x.y"',
  ]);
  assert.deepEqual(parseJson('{"__proto__":1,"__proto__":2}').duplicates, ['duplicate field "__proto__"']);
});

test('unknown fields and duplicate keys are reported in text order, and nothing inside an unknown field', () => {
  const text =
    '{"spec":{"x":{"a":1,"a":2},"z":1,"z":2,"paused":true,"paused":false,"list":[{"y":1,"pull":"A","pull":"B"}]}}';
  const unknown = ['unknown field "spec.z"', 'unknown field "spec.x"', 'unknown field "spec.list[0].y"'];
  assert.deepEqual(findStrictProblems(text, unknown), [
    'unknown field "spec.x"',
    'unknown field "spec.z"',
    'duplicate field "spec.paused"',
    'unknown field "spec.list[0].y"',
    'duplicate field "spec.list[0].pull"',
  ]);
});

test('text without duplicates parses as JSON.parse does', () => {
  fc.assert(
    fc.property(fc.json(), fc.constantFrom(0, 2), (text, indent) => {
      const spaced = JSON.stringify(JSON.parse(text), null, indent);
      const { hasOddNumbers = false, ...parsed } = parseJson(spaced);
      assert.deepEqual({ ...parsed, value: rounded(parsed.value) }, { value: JSON.parse(text), duplicates: [] });
      assert.deepEqual(findDuplicates(spaced), []);
      if (hasOddNumbers) assert.ok(findOddNumbers(spaced).size > 0);
    }),
  );
});

test('an unpaired surrogate becomes the replacement character', () => {
  const cases: Readonly<Record<string, string>> = {
    '\\ud800': '\ufffd',
    '\\uDFFFx': '\ufffdx',
    '\\ud83d\\ude00': '\u{1f600}',
    '\\ud83d\\ud83d\\ude00': '\ufffd\u{1f600}',
    '\\ud83d\\u0041': '\ufffdA',
    '\\\\ud800': '\\ud800',
    '\\\\\\ud800': '\\\ufffd',
  };
  for (const [written, read] of Object.entries(cases)) assert.equal(parseJson(`"${written}"`).value, read, written);
  assert.deepEqual(parseJson('{"\\ud800":1,"\\ud801":2}').duplicates, ['duplicate field "\ufffd"']);
  assert.throws(() => parseJson('"\\ud800\\Ud800"'), JsonSyntaxError);
});

test('numbers that are long integers or not written as integers are found with their paths, and not inside strings', () => {
  for (const number of ['1.0', '-0.5', '1e3', '0E+1', '12.50e-1', '9007199254740993']) {
    const text = `{"a": "2.0", "b" : {"c":[ {"d":${number}}, 1.5]}, "e": 7}`;
    assert.equal(parseJson(text).hasOddNumbers, true, number);
    assert.deepEqual(Object.fromEntries(findOddNumbers(text)), { 'b.c[0].d': number, 'b.c[1]': '1.5' });
  }
  for (const list of ['[1.0]', '[ 1 , 2e1]', '[0,-3, 4.5 ,6]', '[9007199254740993]']) {
    const text = `{"a" : ${list},"b":"c"}`;
    assert.equal(parseJson(text).hasOddNumbers, true, list);
    assert.equal(findOddNumbers(text).size, 1, list);
  }
  for (const value of [
    '1',
    '-20',
    '"1.0"',
    '"e"',
    'true',
    'false',
    'null',
    '{"1.0":"1e3"}',
    '[]',
    '[1, -2]',
    '["1.0"]',
    '[{},1]',
  ]) {
    assert.equal(parseJson(`{"a":${value},"b":0}`).hasOddNumbers, undefined, value);
  }
});

test('nesting depth is limited', () => {
  const deep = '['.repeat(100_000) + ']'.repeat(100_000);
  assert.throws(() => parseJson(deep), { message: 'exceeded max depth' });
  assert.throws(() => parseJson(`${deep}x`), { message: 'exceeded max depth' });
});

test('unknown fields are reported with their path and pruned', () => {
  const value = {
    kind: 'Pod',
    metadata: { name: 'x', bogus2: 2 },
    spec: { containers: [{ name: 'a' }, { name: 'b', Image: 'x', ports: [{ containerPort: 1, nope: {} }] }] },
    bogus: 1,
    constructor: 1,
  };
  const decoded = decodeWithSchema(value, pod());
  assert.deepEqual(decoded.unknownFields, [
    'unknown field "metadata.bogus2"',
    'unknown field "spec.containers[1].Image"',
    'unknown field "spec.containers[1].ports[0].nope"',
    'unknown field "bogus"',
    'unknown field "constructor"',
  ]);
  assert.deepEqual(decoded.value, {
    kind: 'Pod',
    metadata: { name: 'x' },
    spec: { containers: [{ name: 'a' }, { name: 'b', ports: [{ containerPort: 1 }] }] },
  });
});

test('a valid value is returned as it is', () => {
  const value = { kind: 'Pod', metadata: { name: 'x', labels: { a: 'b' } }, spec: { containers: [{ name: 'a' }] } };
  assert.equal(decodeWithSchema(value, pod()).value, value);
});

test('a quantity without quotes keeps its text', () => {
  const amounts = {
    '1.0': '1',
    '1e3': '1e3',
    '1E3': '1e3',
    '0.5': '500m',
    '9007199254740993': '9007199254740993',
    '12': '12',
  };
  for (const [written, kept] of Object.entries(amounts)) {
    const text = `{"spec":{"containers":[{"resources":{"limits":{"example.com/disk":${written}}}}]}}`;
    const { value } = decodeTextWithSchema(JSON.parse(text), pod(), findOddNumbers(text));
    assert.deepEqual(
      value,
      { spec: { containers: [{ resources: { limits: { 'example.com/disk': kept } } }] } },
      written,
    );
  }
});

test('type mismatches have the messages of the decoder', () => {
  const message = (run: () => unknown): string => {
    try {
      run();
    } catch (error) {
      if (error instanceof DecodeError) return error.message;
      throw error;
    }
    return 'decoded';
  };
  const deploymentWith = (spec: object): string =>
    message(() => decodeWithSchema(JSON.parse(JSON.stringify({ spec })), deployment()));
  assert.equal(
    message(() => decodeWithSchema({ data: { k: 5 } }, configMap())),
    'json: cannot unmarshal number into Go struct field ConfigMap.data of type string',
  );
  assert.equal(
    deploymentWith({ replicas: '3' }),
    'json: cannot unmarshal string into Go struct field DeploymentSpec.spec.replicas of type int32',
  );
  assert.equal(
    deploymentWith({ replicas: 1.5 }),
    'json: cannot unmarshal number 1.5 into Go struct field DeploymentSpec.spec.replicas of type int32',
  );
  assert.equal(
    deploymentWith({ replicas: 2 ** 31 }),
    'json: cannot unmarshal number 2147483648 into Go struct field DeploymentSpec.spec.replicas of type int32',
  );
  assert.equal(deploymentWith({ replicas: -(2 ** 31) }), 'decoded');
  assert.equal(
    deploymentWith({ paused: 'yes' }),
    'json: cannot unmarshal string into Go struct field DeploymentSpec.spec.paused of type bool',
  );
  assert.equal(
    deploymentWith({ template: [] }),
    'json: cannot unmarshal array into Go struct field DeploymentSpec.spec.template of type v1.PodTemplateSpec',
  );
  assert.equal(
    deploymentWith({ template: { spec: { containers: {} } } }),
    'json: cannot unmarshal object into Go struct field PodSpec.spec.template.spec.containers of type []v1.Container',
  );
  for (const cpu of ['much', '', ' ']) {
    assert.equal(
      deploymentWith({ template: { spec: { containers: [{ name: 'a', resources: { limits: { cpu } } }] } } }),
      "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'",
    );
  }
  assert.equal(
    deploymentWith({ strategy: { rollingUpdate: { maxSurge: true } } }),
    'json: cannot unmarshal bool into Go struct field RollingUpdateDeployment.spec.strategy.rollingUpdate.maxSurge of type int32',
  );
  assert.equal(
    message(() => decodeWithSchema([], configMap())),
    'json: cannot unmarshal array into Go value of type v1.ConfigMap',
  );
  assert.equal(
    message(() => decodeWithSchema({ binaryData: { a: '!!' } }, configMap())),
    'illegal base64 data at input byte 0',
  );
  assert.equal(
    deploymentWith({ template: { spec: { restartPolicy: 1 } } }),
    'json: cannot unmarshal number into Go struct field PodSpec.spec.template.spec.restartPolicy of type v1.RestartPolicy',
  );
  assert.equal(
    deploymentWith({ template: { spec: { containers: [{ resources: { limits: 'x' } }] } } }),
    'json: cannot unmarshal string into Go struct field ResourceRequirements.spec.template.spec.containers.resources.limits of type v1.ResourceList',
  );
  assert.equal(
    deploymentWith({ template: { spec: { containers: [{ args: [1] }] } } }),
    'json: cannot unmarshal number into Go struct field Container.spec.template.spec.containers.args of type string',
  );
  assert.equal(
    message(() => decodeWithSchema({ metadata: { creationTimestamp: 'abc' } }, configMap())),
    'parsing time "abc" as "2006-01-02T15:04:05Z07:00": cannot parse "abc" as "2006"',
  );
});

test('an invalid result of a strategic merge is refused with the messages of the converter', () => {
  const cases: readonly [object, string][] = [
    [{ replicas: 'x' }, 'unrecognized type: int32'],
    [{ replicas: 1.5 }, 'cannot convert float64 to int32'],
    [{ paused: 1 }, 'unrecognized type: bool'],
    [{ template: [] }, 'cannot restore struct from: slice'],
    [{ template: { metadata: { labels: 5 } } }, 'cannot restore map from int64'],
    [{ template: { metadata: { labels: { a: 5 } } } }, 'cannot convert int64 to string'],
    [{ template: { metadata: { labels: { a: true } } } }, 'unrecognized type: string'],
    [{ template: { spec: { containers: {} } } }, 'cannot restore slice from map'],
    [{ strategy: { rollingUpdate: { maxSurge: true } } }, 'json: cannot unmarshal bool into Go value of type int32'],
  ];
  for (const [spec, message] of cases) {
    const value = JSON.parse(JSON.stringify({ spec }));
    assert.throws(() => decodeWithSchema(value, deployment(), 'converter'), { message }, JSON.stringify(spec));
  }
});

test('bytes are base64', () => {
  const decodes = (text: string): boolean => {
    try {
      decodeWithSchema({ binaryData: { a: text } }, configMap());
      return true;
    } catch (error) {
      if (error instanceof DecodeError) return false;
      throw error;
    }
  };
  for (const good of ['', 'YQ==', 'YWI=', 'YWJj', 'YW\nJj']) assert.equal(decodes(good), true, good);
  for (const bad of ['Y', 'YQ', 'YQ=', '====', 'YQ==YQ==', 'YW-_', 'YW=j']) assert.equal(decodes(bad), false, bad);
});

test('an integer of 64 bits stays one, at the precision of a number', () => {
  const grace = (value: number): unknown => {
    const { spec } = decodeWithSchema({ spec: { terminationGracePeriodSeconds: value } }, pod()).value;
    return JSON.stringify(spec);
  };
  const kept = (value: string): string => `{"terminationGracePeriodSeconds":${value}}`;
  assert.equal(grace(2 ** 53), kept('9007199254740992'));
  assert.equal(grace(2 ** 63), kept('9223372036854775000'));
  assert.equal(grace(-(2 ** 63)), kept('-9223372036854775000'));
  for (const value of [1e20, -1e20, 2 ** 63 + 2048]) {
    assert.throws(() => grace(value), { name: 'DecodeError', message: /cannot unmarshal number -?\d+ into/ });
  }
});

test('the stored form is canonical', () => {
  const decoded = decodeWithSchema(
    {
      metadata: { labels: {}, annotations: null, creationTimestamp: '2024-05-01T02:00:00+02:00', finalizers: [] },
      spec: {
        containers: [{ name: 'a', args: [null], resources: { limits: { cpu: 0.5, memory: '1024Mi' }, requests: {} } }],
      },
    },
    pod(),
  );
  assert.deepEqual(decoded.unknownFields, []);
  assert.deepEqual(decoded.value, {
    metadata: { creationTimestamp: '2024-05-01T00:00:00Z' },
    spec: { containers: [{ name: 'a', args: [''], resources: { limits: { cpu: '500m', memory: '1Gi' } } }] },
  });
  const empty = { spec: { containers: [] } };
  assert.deepEqual(decodeWithSchema(empty, pod()).value, empty);
});
