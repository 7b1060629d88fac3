// With `TEST_WHOLE`, every key block in every carrier.
import './stored-answers.test.ts';
