import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type CelType, compileExpression, fromJson, kubernetesEnvironment, STRING } from './index.ts';

const environment = kubernetesEnvironment(new Map<string, CelType>([['s', STRING]]));

function valueOf(source: string): unknown {
  const compiled = compileExpression(source, environment);
  if (compiled.program === undefined) return compiled.message;
  const outcome = compiled.program.evaluate(() => fromJson('a', STRING));
  return outcome.error?.message ?? outcome.value;
}

const CASES: readonly (readonly [source: string, value: unknown])[] = [
  [String.raw`r'\'`, '\\'],
  [String.raw`R"\"`, '\\'],
  [String.raw`r'\\'`, '\\\\'],
  [String.raw`r'\n\d'`, String.raw`\n\d`],
  [String.raw`r'\' + r'b'`, String.raw`\b`],
  [String.raw`r"""a"\"""`, String.raw`a"\ `.trimEnd()],
  [`r'''\\'''`, '\\'],
  [`r'''\n'\\'\n'''`, "\n'\\'\n"],
  [String.raw`[r'\', "\"'"].size()`, 2],
  [String.raw`'a\'r' + 'b\\'`, String.raw`a'rb` + '\\'],
  [String.raw`"r'\\" + r'"\'`, `r'\\"\\`],
  [String.raw`{?r'\': optional.of(1)}.size() + [?optional.of(r'\')].size()`, 2n],
  [String.raw`s.matches(r'\') || true`, undefined],
];

for (const [source, value] of CASES) {
  test(`a backslash is an ordinary character of a raw string: ${JSON.stringify(source)}`, () => {
    if (value === undefined) assert.match(String(valueOf(source)), /invalid matches argument/);
    else if (typeof value === 'number') assert.equal(valueOf(source), BigInt(value));
    else assert.equal(valueOf(source), value);
  });
}

test('a raw string without an end is a syntax error', () => {
  for (const source of ["r'\\", 'r"""\\"', "r'a\nb'"]) assert.match(String(valueOf(source)), /Syntax error/, source);
});

test('the library of semantic versions, which came after 1.32, is refused', () => {
  for (const source of ["semver('1.2.3').major() == 1", "isSemver('1.2.3')"]) {
    assert.match(String(valueOf(source)), /undeclared reference to '(semver|isSemver)'/, source);
  }
});
