import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { createVirtualClock } from '@holdfast/platform/testing';
import { runCommand } from '../run.ts';
import { inLines } from '../table.ts';
import { type ColourWish, takeNoColor, wantsColours } from './colours.ts';
import { type Output, openTerminal } from './open-terminal.ts';
import { COLOURED } from './paint.ts';
import { barOf, showWork } from './work.ts';

const ESCAPE = '\u001b';

const wish = (given: Partial<ColourWish>): boolean =>
  wantsColours({ noColor: false, env: {}, isTerminal: true, ...given });

class Screen implements Output {
  readonly isTTY: boolean;
  readonly columns = 60;
  text = '';

  constructor(isTTY: boolean) {
    this.isTTY = isTTY;
  }

  write(text: string): void {
    this.text += text;
  }
}

function opened(isTTY: boolean, env: Record<string, string> = {}, noColor = false) {
  const [output, errors, clock] = [new Screen(isTTY), new Screen(isTTY), createVirtualClock()];
  return { output, errors, clock, terminal: openTerminal({ output, errors, env, clock, noColor }) };
}

describe('colours', () => {
  test('are for terminals, and the more explicit wish wins', () => {
    assert.equal(wish({}), true);
    assert.equal(wish({ isTerminal: false }), false);
    assert.equal(wish({ env: { NO_COLOR: '1' } }), false);
    assert.equal(wish({ env: { NO_COLOR: '' } }), true);
    assert.equal(wish({ env: { TERM: 'dumb' } }), false);
    assert.equal(wish({ env: { FORCE_COLOR: '1' }, isTerminal: false }), true);
    assert.equal(wish({ env: { FORCE_COLOR: '0' } }), false);
    assert.equal(wish({ env: { FORCE_COLOR: '1', NO_COLOR: '1' } }), true);
    assert.equal(wish({ env: { FORCE_COLOR: '1' }, noColor: true }), false);
  });

  test('--no-color is taken out of the arguments of any command, but not out of those of another program', () => {
    const argv = ['run', '--no-color', '--', 'ls', '--no-color'];
    assert.deepEqual(takeNoColor(argv), { noColor: true, rest: ['run', '--', 'ls', '--no-color'] });
    assert.deepEqual(takeNoColor(['list']), { noColor: false, rest: ['list'] });
  });

  test('show errors and help on a terminal only', async () => {
    for (const { isTTY, env, coloured } of [
      { isTTY: true, env: {}, coloured: true },
      { isTTY: true, env: { NO_COLOR: '1' }, coloured: false },
      { isTTY: false, env: {}, coloured: false },
    ]) {
      const { terminal, output, errors } = opened(isTTY, env);
      await runCommand('help', [], terminal);
      await runCommand('nothing', [], terminal);
      assert.equal(output.text.includes(ESCAPE), coloured, 'help');
      assert.equal(errors.text.includes(ESCAPE), coloured, 'error');
    }
  });

  test('do not move the columns of a table', () => {
    const rows = [
      ['NAME', 'STATE'],
      ['a', 'running'],
    ];
    const coloured = inLines(rows, (text, row) => (row === 0 ? COLOURED.strong(text) : text));
    assert.equal(coloured[0], `${COLOURED.strong('NAME')}   ${COLOURED.strong('STATE')}`);
    assert.equal(coloured[1], 'a      running');
  });
});

describe('progress', () => {
  test('on a terminal a bar is drawn at the last line, printed lines come above it, and at the end it is gone', async () => {
    const { terminal, output, errors, clock } = opened(true);
    {
      using work = showWork('objects', terminal);
      work.at(0, 4);
      work.at(1, 4);
      await clock.advance(100);
      work.at(2, 4);
      terminal.tell('a line');
    }
    terminal.print('done');
    const bar = (half: string, done: number): string => `objects  [${half}] ${done} of 4`;
    const first = bar('.'.repeat(24), 0);
    const second = bar(`${'#'.repeat(12)}${'.'.repeat(12)}`, 2);
    const clear = `\r${ESCAPE}[K`;
    assert.equal(errors.text, `${clear}${first}${clear}${second}${clear}a line\n${second}${clear}`);
    assert.equal(output.text, 'done\n');
  });

  test('in a file it is a line every ten seconds, so short work says nothing', async () => {
    const { terminal, errors, clock } = opened(false);
    using work = showWork('objects', terminal);
    work.at(1, 4);
    assert.equal(errors.text, '');
    await clock.advance(10_000);
    work.at(2, 4);
    work.at(3, 4);
    assert.equal(errors.text, 'objects: 2 of 4\n');
  });

  test('a bar never takes more than the line, and nothing leaves it at either end', () => {
    const { terminal, errors } = opened(true);
    terminal.live?.show('x'.repeat(200));
    assert.equal(errors.text, `\r${ESCAPE}[K${'x'.repeat(59)}`);
    assert.match(barOf('t', 9, 4), /\[#{24}\] 4 of 4$/);
    assert.match(barOf('t', 0, 0), /\[#{24}\]/);
    assert.equal(barOf('t', 7, undefined), 't  7');
  });

  test('a terminal that does not know its width has a line of 80', () => {
    let written = '';
    const errors = { isTTY: true, columns: 0, write: (text: string) => void (written += text) };
    const deps = { output: errors, errors, env: {}, clock: createVirtualClock(), noColor: false };
    openTerminal(deps).live?.show('x'.repeat(200));
    assert.equal(written, `\r${ESCAPE}[K${'x'.repeat(79)}`);
  });

  test('a terminal that cannot draw twice gets lines', () => {
    assert.equal(opened(true, { TERM: 'dumb' }).terminal.live, undefined);
  });
});
