import type { PatternRoom } from '@holdfast/api';
import { kubernetesEnvironment } from '../library/index.ts';
import { compileExpression, type Program } from '../program.ts';
import { type CelType, optionalOf } from '../types.ts';
import type { RuleText } from './schema.ts';

/** A rule with its programs, or with its errors. */
export interface CompiledRule {
  readonly text: RuleText;
  readonly program?: Program;
  readonly error?: string;
  readonly message?: Program;
  readonly messageError?: string;
  /** The rule compares with the value before the write. */
  readonly usesOldSelf: boolean;
}

/** Without a room for patterns, the rule has one of its own. */
export function compileRule(text: RuleText, self: CelType, patterns?: PatternRoom): CompiledRule {
  const old = text.optionalOldSelf === true ? optionalOf(self) : self;
  const environment = kubernetesEnvironment(
    new Map([
      ['self', self],
      ['oldSelf', old],
    ]),
    patterns,
  );
  if (text.rule.trim() === '') return { text, usesOldSelf: false };
  const rule = compileExpression(text.rule, environment);
  if (rule.program === undefined) return { text, usesOldSelf: false, error: `compilation failed: ${rule.message}` };
  const { program } = rule;
  const usesOldSelf = program.names.has('oldSelf');
  const message = compileMessage(text, environment);
  if (program.type.kind !== 'bool') {
    return { text, usesOldSelf, ...message, error: 'cel expression must evaluate to a bool' };
  }
  return { text, usesOldSelf, program, ...message };
}

function compileMessage(
  { messageExpression }: RuleText,
  environment: Parameters<typeof compileExpression>[1],
): Pick<CompiledRule, 'message' | 'messageError'> {
  if (messageExpression === '') return {};
  if (messageExpression.trim() === '') return { messageError: 'messageExpression must be non-empty if specified' };
  const compiled = compileExpression(messageExpression, environment);
  if (compiled.program === undefined) {
    return { messageError: `messageExpression compilation failed: ${compiled.message}` };
  }
  if (compiled.program.type.kind !== 'string') return { messageError: 'messageExpression must evaluate to a string' };
  return { message: compiled.program };
}
