// With `TEST_WHOLE`, its tests cut each text at every place.
import './carriers.test.ts';
