"""Fact families about a speaker's tastes: food, leisure, things, dreams and fears."""

from personae.data.interview.family import Family, slots_of

TASTES: tuple[Family, ...] = (
    Family(
        "dinner",
        slots_of(
            "pizza pasta sushi curry soup tacos lasagna stew noodles ramen burgers risotto kebab paella"
            " dumplings goulash couscous"
        ),
        (
            "i could eat {x} every evening .",
            "no other meal beats {x} .",
            "you find {x} on my table most nights .",
        ),
        (
            "what is your favourite dinner ?",
            "what should i cook when you come for dinner ?",
            "which dish would you order ?",
        ),
        ("my favourite dish is {x} .", "i would like {x} .", "{x} , please ."),
        "my favourite dinner",
        "your favourite dinner is {x}",
        "my favourite dinner is {x}",
        "do we have the same favourite dinner ?",
    ),
    Family(
        "breakfast",
        slots_of(
            "toast porridge cereal pancakes waffles yoghurt bacon eggs muffins croissants granola"
            " sausages omelettes bagels crumpets"
        ),
        (
            "i start each day with {x} .",
            "my mornings begin with {x} .",
            "first thing after i get up , i eat {x} .",
        ),
        (
            "what do you have for breakfast ?",
            "what is your usual breakfast ?",
            "how does your breakfast look ?",
        ),
        ("i have {x} for breakfast .", "my breakfast is {x} .", "for breakfast , {x} ."),
        "what i have for breakfast",
        "you have {x} for breakfast",
        "i have {x} for breakfast",
        "do we have the same breakfast ?",
    ),
    Family(
        "snack",
        slots_of(
            "chocolate crisps cookies popcorn cake pretzels candy nuts doughnuts licorice toffee"
            " marshmallows fudge cheese olives raisins almonds"
        ),
        (
            "i can never say no to {x} .",
            "i always carry some {x} in my bag .",
            "i hide {x} under my pillow .",
        ),
        (
            "what do you nibble between meals ?",
            "what is your favourite snack ?",
            "what snack should i bring you ?",
        ),
        ("my favourite snack is {x} .", "i nibble {x} .", "for me the best snack is {x} ."),
        "my favourite snack",
        "your favourite snack is {x}",
        "my favourite snack is {x}",
        "do we have the same favourite snack ?",
    ),
    Family(
        "fruit",
        slots_of(
            "bananas apples pears grapes cherries plums mangoes kiwis oranges lemons peaches melons"
            " figs apricots raspberries blueberries pineapples"
        ),
        ("i can not bear {x} .", "the taste of {x} makes me sick .", "i would never swallow {x} ."),
        (
            "which fruit do you hate ?",
            "what fruit do you dislike ?",
            "what should i leave out of a fruit salad ?",
        ),
        ("the fruit i hate is {x} .", "i dislike {x} .", "please leave out {x} ."),
        "which fruit i dislike",
        "you dislike {x}",
        "i dislike {x}",
        "do we dislike the same fruit ?",
    ),
    Family(
        "drink",
        slots_of("tea coffee water juice lemonade cider beer wine cocoa milk soda whisky champagne gin rum vodka"),
        (
            "my cup is full of {x} .",
            "i pour myself some {x} at noon .",
            "a bottle of {x} stands by my chair .",
        ),
        ("what do you like to drink ?", "what is your favourite drink ?", "what do you order in a bar ?"),
        ("i like to drink {x} .", "my favourite drink is {x} .", "{x} is the drink for me ."),
        "my favourite drink",
        "your favourite drink is {x}",
        "my favourite drink is {x}",
        "do we have the same favourite drink ?",
    ),
    Family(
        "hobby",
        slots_of(
            "knitting painting hiking sewing gardening juggling pottery photography origami"
            " birdwatching camping baking dancing sketching carving calligraphy"
        ),
        ("i am happy when i am busy with {x} .", "{x} helps me to relax .", "i gave courses in {x} ."),
        (
            "what is your hobby ?",
            "how do you spend your free time ?",
            "what do you do for fun on the weekend ?",
        ),
        ("my hobby is {x} .", "i spend my free time on {x} .", "{x} , that is fun for me ."),
        "what my hobby is",
        "your hobby is {x}",
        "my hobby is {x}",
        "do we have the same hobby ?",
    ),
    Family(
        "instrument",
        slots_of(
            "piano violin guitar flute cello trumpet harp banjo clarinet saxophone accordion ukulele"
            " oboe trombone harmonica mandolin bassoon tuba"
        ),
        (
            "i practise the {x} every night .",
            "the neighbours complain about my {x} .",
            "i had lessons on the {x} .",
        ),
        (
            "which instrument do you play ?",
            "what would you play in an orchestra ?",
            "what is your instrument ?",
        ),
        ("i play the {x} .", "my instrument is the {x} .", "the {x} , but i am not very good ."),
        "which instrument i play",
        "you play the {x}",
        "i play the {x}",
        "do we play the same instrument ?",
    ),
    Family(
        "music",
        slots_of("jazz rock blues folk opera reggae techno soul punk metal disco gospel swing funk rap ska"),
        (
            "my radio is tuned to {x} .",
            "my headphones are full of {x} .",
            "i have a hundred {x} records .",
        ),
        (
            "what music do you like ?",
            "what kind of music do you listen to ?",
            "which songs can you sing along to ?",
        ),
        ("i listen to {x} .", "i like {x} music .", "my kind of music is {x} ."),
        "what music i like",
        "you like {x} music",
        "i like {x} music",
        "do we like the same music ?",
    ),
    Family(
        "sport",
        slots_of(
            "tennis football golf hockey rugby cricket basketball volleyball badminton baseball"
            " handball polo lacrosse softball squash"
        ),
        ("i am in a {x} club .", "i bought new shoes for {x} .", "i once won a cup in {x} ."),
        ("what sport do you do ?", "how do you keep fit ?", "which sport are you best at ?"),
        ("my sport is {x} .", "i keep fit with {x} .", "{x} is the sport for me ."),
        "what sport i do",
        "your sport is {x}",
        "my sport is {x}",
        "do we do the same sport ?",
    ),
    Family(
        "game",
        slots_of(
            "chess poker checkers dominoes bingo bridge darts marbles backgammon solitaire billiards"
            " charades mahjong rummy"
        ),
        (
            "i know every trick in {x} .",
            "nobody beats me at {x} .",
            "i stay up late for a round of {x} .",
        ),
        (
            "what game do you enjoy ?",
            "what should we play on a rainy afternoon ?",
            "which game is the most fun ?",
        ),
        ("let us play {x} .", "the game i enjoy is {x} .", "i would play {x} with you ."),
        "which game i enjoy",
        "you enjoy {x}",
        "i enjoy {x}",
        "do we enjoy the same game ?",
    ),
    Family(
        "film",
        slots_of(
            "comedies westerns thrillers musicals cartoons documentaries romances dramas mysteries"
            " epics biographies satires"
        ),
        (
            "i own a shelf of {x} .",
            "i laugh and cry over {x} .",
            "i never get tired of {x} .",
        ),
        (
            "what films do you watch ?",
            "what do you see at the cinema ?",
            "which kind of film do you prefer ?",
        ),
        ("i watch {x} .", "i prefer {x} .", "the films i watch are {x} ."),
        "what films i watch",
        "you watch {x}",
        "i watch {x}",
        "do we watch the same films ?",
    ),
    Family(
        "place",
        slots_of("museum park library beach gym market church harbour pool sauna gallery aquarium forest lake"),
        (
            "on sundays i am at the {x} .",
            "the {x} is my second home .",
            "i know every corner of the {x} .",
        ),
        (
            "where shall we meet ?",
            "which spot would you show to a visitor ?",
            "where could we go for an outing ?",
        ),
        ("let us go to the {x} .", "we could meet at the {x} .", "i would show you the {x} ."),
        "where i like to be",
        "you like to be at the {x}",
        "i like to be at the {x}",
        "do we like to be at the same spot ?",
    ),
    Family(
        "colour",
        slots_of("red blue green yellow purple pink brown black white grey silver gold turquoise crimson violet beige"),
        ("my walls are painted {x} .", "i dye my hair {x} .", "all i wear is {x} ."),
        ("what is your favourite colour ?", "which colour do you like best ?", "what colour suits you ?"),
        ("my favourite colour is {x} .", "i like {x} best .", "{x} is the colour for me ."),
        "my favourite colour",
        "your favourite colour is {x}",
        "my favourite colour is {x}",
        "do we have the same favourite colour ?",
    ),
    Family(
        "plant",
        slots_of(
            "roses tulips lilies orchids daisies ferns tomatoes sunflowers carrots basil mint lavender"
            " pumpkins beans potatoes onions cucumbers"
        ),
        (
            "i sow {x} behind the shed .",
            "i look after my {x} at sunset .",
            "my {x} won a prize at the fair .",
        ),
        ("what do you grow in your garden ?", "which plants do you keep ?", "what is in your flower bed ?"),
        ("i grow {x} .", "my garden is full of {x} .", "the plants i keep are {x} ."),
        "what i grow in the garden",
        "you grow {x}",
        "i grow {x}",
        "do we grow the same plants ?",
    ),
    Family(
        "tool",
        slots_of("hammer drill wrench screwdriver chisel sander shovel axe rake spanner crowbar mallet trowel pickaxe"),
        (
            "in my shed hangs {a} .",
            "i never leave without my {x} .",
            "i lent {a} to the man next door .",
        ),
        ("what tool do you have ?", "which tool could i borrow ?", "what is in your toolbox ?"),
        ("the tool i have is {a} .", "you could borrow my {x} .", "there is {a} in my toolbox ."),
        "which tool i have",
        "you have {a}",
        "i have {a}",
        "do we have the same tool ?",
    ),
    Family(
        "collection",
        slots_of(
            "stamps coins shells postcards dolls clocks buttons magnets spoons masks maps keys badges"
            " fossils comics teapots"
        ),
        (
            "my drawers are full of old {x} .",
            "i hunt for rare {x} .",
            "i pay a lot of money for old {x} .",
        ),
        ("what do you collect ?", "what is in your collection ?", "what could i add to your collection ?"),
        ("i collect {x} .", "my collection is all {x} .", "i have a collection of {x} ."),
        "what i collect",
        "you collect {x}",
        "i collect {x}",
        "do we collect the same things ?",
    ),
    Family(
        "dream",
        slots_of(
            "castle island vineyard lighthouse yacht hotel zoo ranch theatre submarine orchard circus"
            " airplane waterfall"
        ),
        (
            "some day i will own {a} .",
            "i save every penny for {a} .",
            "if i were rich i would buy {a} .",
        ),
        (
            "what do you dream of ?",
            "what is your greatest wish ?",
            "what are you longing for ?",
        ),
        ("i dream of {a} .", "my greatest wish is {a} .", "{a} , that is my dream ."),
        "what i dream of",
        "you dream of {a}",
        "i dream of {a}",
        "do we dream of the same thing ?",
    ),
    Family(
        "fear",
        slots_of(
            "spiders heights thunder darkness clowns sharks needles ghosts crowds lifts fire wasps bats"
            " blood tunnels lightning"
        ),
        (
            "i scream because of {x} .",
            "i run away from {x} .",
            "i have nightmares about {x} .",
        ),
        ("what are you afraid of ?", "what is your biggest fear ?", "what scares you ?"),
        ("i am afraid of {x} .", "my biggest fear is {x} .", "i am scared of {x} ."),
        "what i am afraid of",
        "you are afraid of {x}",
        "i am afraid of {x}",
        "are we afraid of the same thing ?",
    ),
)
