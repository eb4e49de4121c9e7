import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Screen } from './screen.ts';

const ESC = '\x1b[';

function shown(text: string, columns = 10, rows = 4): string {
  const screen = new Screen(columns, rows);
  screen.write(text);
  return screen.text();
}

for (const [what, text, expected] of [
  ['lines', 'one\r\ntwo', 'one\ntwo'],
  ['a line that is too long goes on below', 'abcdefghijkl', 'abcdefghij\nkl'],
  ['the first line goes when the screen is full', '1\r\n2\r\n3\r\n4\r\n5', '2\n3\n4\n5'],
  ['a prompt is written again', 'old\rnew', 'new'],
  ['a character is taken back', 'ab\b \bc', 'ac'],
  ['the cursor is moved', `${ESC}2;3Hx${ESC}Ay`, '   y\n  x'],
  ['the rest of a line goes', `abc\r${ESC}C${ESC}K`, 'a'],
  ['the screen is cleared', `abc${ESC}2J${ESC}Hd`, 'd'],
  ['characters and lines are put in and taken out', `abc\r${ESC}@x${ESC}2P\r\nl2${ESC}L`, 'xc\n\nl2'],
  ['a region scrolls alone', `${ESC}1;2r1\r\n2\r\n3`, '2\n3'],
  ['titles and unknown sequences are left out', '\x1b]0;title\x07\x1b(Ba\x1b[?2004hb\x1b[99zc', 'abc'],
  ['an editor leaves what was there', `shell${ESC}?1049heditor${ESC}?1049l!`, 'shell!'],
  ['characters outside of ASCII', 'Grüße ☃', 'Grüße ☃'],
] as const) {
  test(what, () => {
    assert.equal(shown(text), expected);
    // However it is cut.
    const screen = new Screen(10, 4);
    for (const char of text) screen.write(char);
    assert.equal(screen.text(), expected);
  });
}

test('colours, and the place of the cursor for who asks', () => {
  const answers: string[] = [];
  const screen = new Screen(10, 4, (text) => void answers.push(text));
  screen.write(`${ESC}1;31ma${ESC}0mb${ESC}38;5;2mc${ESC}6n`);
  assert.deepEqual(
    screen.lines[0]?.slice(0, 3).map(({ pen }) => [pen.ink, pen.isBold]),
    [
      [1, true],
      [-1, false],
      [2, false],
    ],
  );
  assert.deepEqual(answers, [`${ESC}1;4R`]);
});

test('a smaller screen keeps the line of the cursor, and nothing that a program writes makes it larger', () => {
  const screen = new Screen(10, 4);
  screen.write('1\r\n2\r\n3\r\n4');
  screen.resize(5, 2);
  assert.equal(screen.text(), '3\n4');
  screen.write(`${ESC}999999999@${ESC}999999999L${ESC}999999999;999999999Hx${ESC}${'1;'.repeat(5000)}`);
  assert.deepEqual([screen.lines.length, ...screen.lines.map((line) => line.length)], [2, 5, 5]);
  screen.resize(1e9, 1e9);
  assert.ok(screen.lines.length <= 200 && (screen.lines[0]?.length ?? 0) <= 500);
});
