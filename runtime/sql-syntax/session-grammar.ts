import { BranchGrammar } from './branch-grammar.ts';
import { nameOf, spanOf } from './grammar-base.ts';
import type {
  BeginStatement,
  CommitStatement,
  RollbackStatement,
  SetVariableStatement,
  ShowBranchesStatement,
  ShowVariableStatement,
  UseBranchStatement,
} from './nodes/branch-nodes.ts';
import type { GivenText, GivenValue } from './nodes/given-nodes.ts';
import { anyLabel, comma, dot, equal, keywords } from './tokens.ts';

/** The variable that holds the branch of the session. */
const BRANCH_VARIABLE = 'app.branch';

/** The rules for transactions and variables. */
export abstract class SessionGrammar extends BranchGrammar {
  /** `BEGIN [TRANSACTION]`, `START TRANSACTION`. */
  protected readonly beginTransaction = this.RULE('beginTransaction', (): BeginStatement => {
    const start = this.ACTION(() => this.nextStart);
    this.OR([
      {
        ALT: () => {
          this.CONSUME(keywords.BEGIN);
          this.SUBRULE(this.transactionWord);
        },
      },
      {
        ALT: () => {
          this.CONSUME(keywords.START);
          this.CONSUME(keywords.TRANSACTION);
        },
      },
    ]);
    return this.ACTION(() => ({ kind: 'begin', span: this.spanFrom(start) }));
  });

  /** TRANSACTION or WORK, which say nothing. */
  private readonly transactionWord = this.RULE('transactionWord', (): void => {
    this.OPTION(() => {
      this.OR([
        { ALT: () => this.CONSUME(keywords.TRANSACTION) },
        { ALT: () => this.CONSUME(keywords.WORK) },
      ]);
    });
  });

  /** `COMMIT [[WITH] MESSAGE 'm'] [[WITH] ACTOR 'a']`. */
  protected readonly commit = this.RULE('commit', (): CommitStatement => {
    const { startOffset } = this.CONSUME(keywords.COMMIT);
    this.SUBRULE(this.transactionWord);
    let message: GivenText | undefined;
    let actor: GivenText | undefined;
    this.MANY(() => {
      this.OPTION(() => this.CONSUME(keywords.WITH));
      this.OR([
        {
          ALT: () => {
            const word = this.CONSUME(keywords.MESSAGE);
            this.ACTION(() => {
              if (message !== undefined) throw this.clauseTwice('MESSAGE', word.startOffset);
            });
            message = this.SUBRULE(this.givenText);
          },
        },
        {
          ALT: () => {
            const word = this.CONSUME(keywords.ACTOR);
            this.ACTION(() => {
              if (actor !== undefined) throw this.clauseTwice('ACTOR', word.startOffset);
            });
            actor = this.SUBRULE2(this.givenText);
          },
        },
      ]);
    });
    return this.ACTION(() => ({ kind: 'commit', message, actor, span: this.spanFrom(startOffset) }));
  });

  protected readonly rollback = this.RULE('rollback', (): RollbackStatement => {
    const { startOffset } = this.CONSUME(keywords.ROLLBACK);
    this.SUBRULE(this.transactionWord);
    return this.ACTION(() => ({ kind: 'rollback', span: this.spanFrom(startOffset) }));
  });

  /** `SET [SESSION|LOCAL] name (=|TO) value`; of `app.branch` the statement that changes the branch. */
  protected readonly setVariable = this.RULE('setVariable', (): SetVariableStatement | UseBranchStatement => {
    const { startOffset } = this.CONSUME(keywords.SET);
    const scope = this.OPTION({
      // A variable may be called local.
      GATE: () => !this.isAhead(2, equal, keywords.TO, dot),
      DEF: () =>
        this.OR3([
          { ALT: () => this.CONSUME(keywords.SESSION) },
          { ALT: () => this.CONSUME(keywords.LOCAL) },
        ]),
    });
    const words = this.SUBRULE(this.dottedName);
    this.OR2([{ ALT: () => this.CONSUME(equal) }, { ALT: () => this.CONSUME(keywords.TO) }]);
    const name = this.ACTION(() => words.join('.').toLowerCase());
    return this.choose<SetVariableStatement | UseBranchStatement>([
      {
        GATE: () => name === BRANCH_VARIABLE,
        ALT: () => {
          const branch = this.SUBRULE(this.givenName);
          return this.ACTION(() => ({
            kind: 'use-branch',
            name: branch,
            isLocal: scope?.tokenType === keywords.LOCAL,
            span: this.spanFrom(startOffset),
          }));
        },
      },
      {
        GATE: () => name !== BRANCH_VARIABLE,
        ALT: () => {
          const value = this.SUBRULE(this.variableValues);
          return this.ACTION(() => ({ kind: 'set-variable', name, value, span: this.spanFrom(startOffset) }));
        },
        IGNORE_AMBIGUITIES: true,
      },
    ]);
  });

  /** DEFAULT, a value, or several of them, which are read as one text. */
  private readonly variableValues = this.RULE('variableValues', (): GivenValue | undefined => {
    const start = this.ACTION(() => this.nextStart);
    const isDefault = this.ACTION(() => this.isAhead(1, keywords.DEFAULT));
    const values: GivenValue[] = [];
    this.AT_LEAST_ONE_SEP({ SEP: comma, DEF: () => values.push(this.SUBRULE(this.variableValue)) });
    return this.ACTION(() => {
      const [first] = values;
      if (values.length === 1) return isDefault ? undefined : first;
      const parts = values.map((each) => (each.kind === 'parameter' ? `$${each.index}` : String(each.value)));
      return { kind: 'literal', type: 'text', value: parts.join(', '), span: this.spanFrom(start) };
    });
  });

  private readonly variableValue = this.RULE(
    'variableValue',
    (): GivenValue =>
      this.choose<GivenValue>([
        { ALT: () => this.SUBRULE(this.givenValue) },
        {
          ALT: () => {
            const token = this.CONSUME(anyLabel);
            return this.ACTION(() => ({
              kind: 'literal',
              type: 'text',
              value: nameOf(token),
              span: spanOf(token),
            }));
          },
          IGNORE_AMBIGUITIES: true,
        },
      ]),
  );

  /** `name` of SHOW: words and dots; `app.branch` is the branch of the session. */
  protected readonly showVariable = this.RULE(
    'showVariable',
    (start: number): ShowVariableStatement | ShowBranchesStatement => {
      const words: string[] = [];
      this.AT_LEAST_ONE(() => {
        const part = this.SUBRULE(this.dottedName);
        this.ACTION(() => words.push(part.join('.').toLowerCase()));
      });
      return this.ACTION(() => {
        const name = words.join(' ');
        const span = this.spanFrom(start);
        return name === BRANCH_VARIABLE
          ? { kind: 'show-current-branch', span }
          : { kind: 'show-variable', name, span };
      });
    },
  );
}
